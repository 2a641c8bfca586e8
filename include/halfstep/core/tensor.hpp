// SPDX-License-Identifier: Apache-2.0
/// Views of tensors that others own: a pointer, a shape, a name for messages. Nothing is copied.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>  // and std::begin, std::data, std::size; <iterator> itself brings the stream iterators
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include <halfstep/core/dtype.hpp>
#include <halfstep/core/foreign.hpp>

namespace halfstep {

/// The extents of a dense row-major tensor, at most eight of them. Any extent may be zero.
class shape {
  public:
    static constexpr int max_rank = 8;

    constexpr shape() = default;
    /// Throws std::invalid_argument for more than eight extents, a negative one, or a product beyond 2^63 - 1.
    constexpr shape(std::initializer_list<std::int64_t> extents) {
        if (extents.size() > max_rank) throw std::invalid_argument("halfstep: a shape has at most eight extents");
        bool empty = false;
        for (std::int64_t extent : extents) {
            if (extent < 0) throw std::invalid_argument("halfstep: a tensor's extent must not be negative");
            empty = empty || extent == 0;
            extents_[static_cast<std::size_t>(rank_++)] = extent;
        }
        for (std::int64_t extent : extents) {
            if (!empty && size_ > std::numeric_limits<std::int64_t>::max() / extent)
                throw std::invalid_argument("halfstep: a tensor has more elements than 64 bits can count");
            size_ *= empty ? 0 : extent;
        }
    }

    constexpr int rank() const { return rank_; }
    constexpr std::int64_t extent(int dimension) const { return extents_[static_cast<std::size_t>(dimension)]; }
    /// The product of the extents; 1 for a scalar.
    constexpr std::int64_t size() const { return size_; }
    friend constexpr bool operator==(shape const&, shape const&) = default;

  private:
    std::array<std::int64_t, max_rank> extents_{};
    std::int64_t size_ = 1;
    int rank_ = 0;
};

/// A range whose elements lie side by side, const or not. (Its own concept, since <ranges> costs a user 0.3 s a file.)
template <class R>
concept contiguous_elements = requires(R& range) {
    *std::data(range);
    std::size(range);
};
template <class R>
using element_of_t = std::remove_reference_t<decltype(*std::data(std::declval<R&>()))>;

template <class T>
class tensor_view;
namespace detail {
template <class X>
inline constexpr bool is_tensor_view = false;
template <class T>
inline constexpr bool is_tensor_view<tensor_view<T>> = true;
}  // namespace detail

/// A dense tensor of `T`, owned by somebody else. A null pointer with elements means "no such tensor now": a parameter
/// whose gradient is null takes no part in the step.
template <class T>
class tensor_view {
  public:
    using element_type = T;

    constexpr tensor_view() : shape_{0} {}
    constexpr tensor_view(T* data, shape extents, std::string_view name = {})
        : data_(data), shape_(extents), name_(name) {}
    /// A view of what may be written is one of what is read.
    template <class U>
        requires(std::same_as<U const, T> && !std::same_as<U, T>)
    constexpr tensor_view(tensor_view<U> const& other)
        : data_(other.data()), shape_(other.extents()), name_(other.name()) {}
    /// A contiguous range as a tensor of one dimension.
    template <contiguous_elements R>
        requires((std::same_as<element_of_t<R>, T> || std::same_as<element_of_t<R> const, T>) &&
                 !detail::is_tensor_view<std::remove_cvref_t<R>>)
    // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): a view is no such range
    constexpr tensor_view(R&& range) : data_(std::data(range)), shape_{static_cast<std::int64_t>(std::size(range))} {}

    constexpr T* data() const { return data_; }
    constexpr shape const& extents() const { return shape_; }
    constexpr std::int64_t size() const { return shape_.size(); }
    constexpr std::string_view name() const { return name_; }
    constexpr std::span<T> elements() const { return {data_, static_cast<std::size_t>(data_ ? size() : 0)}; }

  private:
    T* data_ = nullptr;
    shape shape_;
    std::string_view name_;
};

template <class T>
tensor_view(T*, shape) -> tensor_view<T>;
template <class T>
tensor_view(T*, shape, std::string_view) -> tensor_view<T>;
template <contiguous_elements R>
tensor_view(R&&) -> tensor_view<element_of_t<R>>;

namespace detail {

template <class X>
struct view_element {};
template <class T>
struct view_element<tensor_view<T>> {
    using type = T;
};
template <class X>
    requires contiguous_elements<X const>
struct view_element<X> {
    using type = element_of_t<X const>;
};

}  // namespace detail

/// `T`, or a foreign type of the same bits (`_Float16`, `__half`, …), const or not.
template <class Foreign, class T>
concept same_bits_as = std::same_as<storage_of_t<std::remove_cv_t<Foreign>>, T>;

/// One tensor whose elements have the bits of `T`: a tensor_view, or a contiguous range.
template <class X, class T>
concept tensor_like = requires { typename detail::view_element<std::remove_cvref_t<X>>::type; } &&
                      same_bits_as<typename detail::view_element<std::remove_cvref_t<X>>::type, T>;

/// A range of them.
template <class R, class T>
concept tensor_range = !tensor_like<R, T> && requires(std::remove_cvref_t<R>& range) {
    std::end(range);
    requires tensor_like<decltype(*std::begin(range)), T>;
};

/// `tensor` as a view of `T`, whatever it is called where it comes from. `Element` may be `T const`.
template <class Element, class X>
constexpr tensor_view<Element> view_as(X&& tensor) {
    using from = typename detail::view_element<std::remove_cvref_t<X>>::type;
    const auto view = [&] {
        if constexpr (std::same_as<std::remove_cvref_t<X>, tensor_view<from>>)
            return tensor;
        else
            return tensor_view(tensor);
    }();
    static_assert(std::is_const_v<Element> || !std::is_const_v<typename decltype(view)::element_type>,
                  "halfstep: a view of writable elements needs a range whose elements are not const");
    if constexpr (std::same_as<std::remove_const_t<from>, std::remove_const_t<Element>>)
        return {view.data(), view.extents(), view.name()};
    else
        return {bit_view<Element>(view.data()), view.extents(), view.name()};
}

}  // namespace halfstep
