// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <limits>
#include <matrix/workload.hpp>
#include <new>
#include <type_traits>

namespace matrix {

namespace {

/// `f(T{})` for the element type numbered `dtype`.
template <class F>
void with_type(int dtype, F&& f) {
    hs::for_each_index<5>([&](auto n) {
        if (static_cast<int>(n) == dtype)
            [&]<class T>(hs::dtype<T>) { f(std::type_identity<T>{}); }(hs::get<n>(dtypes));
    });
}

/// An even mixture of signs, of magnitudes from 2^-6 to 2, and of some zeros; mantissas use all 23 bits.
float value_at(std::uint32_t n) {
    n = (n ^ (n >> 16)) * 0x45D9F3Bu;
    n = (n ^ (n >> 15)) * 0x2C1B3C6Du;
    n ^= n >> 16;
    if ((n & 0xF0u) == 0) return 0;
    return hs::real_of((n & 0x80000000u) | ((127 - n % 7) << 23) | ((n >> 8) & 0x7FFFFFu));
}

template <class Value>
void fill(byte_tensors& tensors, Value&& value) {
    with_type(tensors.dtype_number(), [&]<class T>(std::type_identity<T>) {
        std::uint32_t n = 0;
        for (int t = 0; t < tensor_count; ++t)
            for (std::int64_t i = 0; i < tensor_sizes[t]; ++i) {
                const T element = hs::narrow<T>(value(t, i, n++));
                std::memcpy(tensors.data(t) + i * std::int64_t{sizeof(T)}, &element, sizeof(T));
            }
    });
}

std::size_t element_bytes(int dtype) {
    std::size_t bytes = 0;
    with_type(dtype, [&]<class T>(std::type_identity<T>) { bytes = sizeof(T); });
    return bytes;
}

}  // namespace

fault fault_at(int step) {
    constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    switch (step) {
        case 2:
            return {1, 0, inf};  // the only element of its tensor
        case 6:
            return {10, 19999, -inf};  // the last of the longest
        case 7:
            return {9, 4096, nan};  // the only one of a segment
        case 11:
            return {6, 256, inf};  // after a whole tile
        case 12:
            return {2, 62, nan};  // in a pack that is not full
        case 13:
            return {10, 4095, inf};  // the last of a segment
        case 17:
            return {3, 0, -inf};  // the first of a pack
        default:
            return {-1, 0, 0};
    }
}

byte_tensors::byte_tensors(int dtype_number) : dtype_(dtype_number) {
    const std::size_t element = element_bytes(dtype_number);
    for (int t = 0; t < tensor_count; ++t) {
        offset_[t] = size_ + (t % 2 == 0 ? 0 : element);
        size_ = (offset_[t] + static_cast<std::size_t>(tensor_sizes[t]) * element + 127) / 64 * 64;
    }
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(64, size_)));
    if (!memory_) throw std::bad_alloc();
    std::memset(memory_.get(), 0x5A, size_);
}
byte_tensors::byte_tensors(byte_tensors const& other) : byte_tensors(other.dtype_) {
    std::memcpy(memory_.get(), other.memory_.get(), size_);
}

void fill_parameters(byte_tensors& parameters) {
    fill(parameters, [](int, std::int64_t, std::uint32_t n) { return value_at(n * 3 + 1); });
}

void fill_gradients(byte_tensors& gradients, int step, bool faults) {
    constexpr float magnitude[]{1, 0x1p-4f, 0x1p-8f, 0x1p-12f};  // norm clipping is at work on some steps only
    const fault wrong = faults ? fault_at(step) : fault{-1, 0, 0};
    const bool has_infinity = gradients.dtype_number() != 3;
    fill(gradients, [&](int t, std::int64_t i, std::uint32_t n) {
        if (t == wrong.tensor && i == wrong.element)
            return has_infinity ? wrong.value : std::numeric_limits<float>::quiet_NaN();
        return value_at(n * 5 + static_cast<std::uint32_t>(step) * 104729u) * magnitude[step % 4];
    });
}

}  // namespace matrix
