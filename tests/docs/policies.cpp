// SPDX-License-Identifier: Apache-2.0
// The smallest model of each concept (docs/slots) and the policies of docs/howto/write_a_policy.md.
#include <catch.hpp>
#include <cstdint>
#include <halfstep/halfstep.hpp>
#include <limits>
#include <vector>

namespace hs = halfstep;

namespace lab {

// [snippet: parameter_group]
struct biases {
    using slot = hs::parameter_group_slot;
    using tag = biases;  // its name in bind<…> and on<…>
    using type = float;  // of the parameters: float, fp16, bf16, fp8_e4m3 or fp8_e5m2
    using gradient_type = float;
    static constexpr bool trains = true;
    float lr_factor = 2;            // multiplies the learning rate of the step
    float weight_decay_factor = 0;  // multiplies the weight decay of the rule
};
static_assert(hs::parameter_group<biases>);
// [end]

// [snippet: update_rule]
struct descent {
    using slot = hs::update_rule_slot;
    static constexpr int moments = 0;  // values a parameter; they start at zero
    struct coefficients {              // trivially copyable: the scalars of one step
        float minus_lr;
    };
    HS_FUNCTION constexpr coefficients prepare(hs::rule_input const& in) const { return {-in.lr}; }
    template <class Real>  // float, or a pack of lanes
    HS_FUNCTION constexpr void update(coefficients const& c, Real& parameter, Real gradient,
                                      hs::values<Real, moments>&) const {
        using hs::fma;
        parameter = fma(Real(c.minus_lr), gradient, parameter);
    }
};
static_assert(hs::elementwise_rule<descent>);
// [end]

// [snippet: loss_scaling]
struct sixteen {
    using slot = hs::loss_scaling_slot;
    struct state {};  // trivially copyable
    HS_FUNCTION constexpr float scale(state const&) const { return 16; }
    HS_FUNCTION constexpr void update(state&, hs::gradient_report const&) const {}
};
static_assert(hs::loss_scaling<sixteen>);
// [end]

// [snippet: overflow_detection]
struct finite_check {
    using slot = hs::overflow_detection_slot;
    template <class Real>  // one of two optional hooks: each gradient as a value, still scaled
    HS_FUNCTION constexpr auto flags(Real gradient) const {
        return gradient - gradient != Real(0.0f);  // inf - inf is NaN
    }
    HS_FUNCTION constexpr bool overflowed(hs::gradient_report const& r) const { return r.flagged; }
};
static_assert(hs::overflow_detection<finite_check>);
// [end]

// [snippet: gradient_clipping]
struct only_descent {
    using slot = hs::gradient_clipping_slot;
    HS_FUNCTION constexpr float factor(hs::gradient_norms const&) const { return 1; }  // of all gradients of a group
    HS_FUNCTION constexpr float clip(float gradient) const { return gradient < 0 ? 0.0f : gradient; }  // optional
};
static_assert(hs::gradient_clipping<only_descent>);
// [end]

// [snippet: storage]
struct as_it_is {
    using slot = hs::storage_slot;
    template <class T>
    using companion = hs::no_companion;  // or a type: one value beside each parameter

    template <class T>
    HS_FUNCTION constexpr hs::no_companion initial(T) const {
        return {};
    }
    template <class Stored>  // T, or the lanes of T
    HS_FUNCTION constexpr auto load(Stored parameter, hs::no_companion) const {
        using hs::widen;
        return widen(parameter);
    }
    template <class Real, class Stored>
    HS_FUNCTION constexpr void store(Real value, Stored& parameter, hs::no_companion&, hs::noise<Real>) const {
        using hs::round_into;
        round_into(parameter, value);
    }
};
static_assert(hs::storage_rule<as_it_is> && hs::storage_rule_for<as_it_is, float>);
// [end]

// [snippet: state]
struct bf16_moments {  // to 8 bits, a relative error of 2^-9
    using slot = hs::state_slot;
    using element = hs::bf16;  // trivially copyable, one for each moment of each parameter

    template <class Stored>
    HS_FUNCTION constexpr auto load(Stored moment) const {
        using hs::widen;
        return widen(moment);
    }
    template <class Real, class Stored>
    HS_FUNCTION constexpr void store(Real value, Stored& moment, hs::noise<Real>) const {
        using hs::round_into;
        round_into(moment, value);
    }
};
static_assert(hs::state_rule<bf16_moments>);
// [end]

// [snippet: sharding]
struct slices {  // each rank updates one contiguous slice of a group and hands it to the others
    using slot = hs::sharding_slot;
    static constexpr auto gradients = hs::gradient_collective::all_reduce;
    static constexpr auto parameters = hs::parameter_collective::broadcast_owned;
    static constexpr bool cuts_tensors = true;
    constexpr hs::flat_range owned(std::int64_t elements, int rank, int world_size) const {
        return {elements * rank / world_size, elements * (rank + 1) / world_size};
    }
};
static_assert(hs::sharding_layout<slices>);
// [end]

// [snippet: communicator]
struct first_of_two {  // a world whose other rank always holds the same gradients
    using slot = hs::communicator_slot;
    int rank() const { return 0; }
    int size() const { return 2; }
    void all_reduce(std::span<double> scalars, hs::reduction how) {
        if (how == hs::reduction::sum)
            for (double& x : scalars) x += x;
    }
    template <class T>
    void all_reduce_mean(std::span<T>) {}  // the mean of a value and itself
    template <class T>
    void broadcast(std::span<T>, int /*root*/) {}
};
static_assert(hs::communicator<first_of_two>);
// [end]

// [snippet: telemetry]
struct step_count {
    using slot = hs::telemetry_slot;
    int* counter = nullptr;
    struct recorder {
        int* counter;
        explicit recorder(step_count const& policy) : counter(policy.counter) {}
        void record(hs::step_record const&) {
            if (counter != nullptr) ++*counter;
        }
    };
};
static_assert(hs::telemetry<step_count>);
// [end]

// [snippet: execution_backend]
struct one_thread {  // runs the steps of another backend, here always on one thread
    using slot = hs::execution_backend_slot;
    static constexpr bool device_memory = false;
    static constexpr bool synchronous = true;
    using buffer = hs::host_backend::buffer;
    hs::host_backend host{.threads = 1};

    buffer allocate(std::size_t bytes) const { return host.allocate(bytes); }
    void write(std::byte* to, std::byte const* from, std::size_t bytes) const { host.write(to, from, bytes); }
    void read(std::byte* to, std::byte const* from, std::size_t bytes) const { host.read(to, from, bytes); }

    template <class Values, class Table>
    void initialise(Values const& policies, Table const& table) {
        host.initialise(policies, table);
    }
    template <class Table>
    std::vector<hs::gradient_report> tensor_reports(Table const& table) const {
        return host.tensor_reports(table);
    }
    template <class Context>
    void inspect(Context& context) {
        host.inspect(context);
    }
    template <class Context>
    void run(Context& context, hs::step_input const& in) {
        host.run(context, in);
    }
};
static_assert(hs::execution_backend<one_thread>);
// [end]

}  // namespace lab

TEST_CASE("The smallest models go together in one step") {
    using recipe = hs::recipe<lab::biases{}, lab::descent{}, lab::sixteen{}, lab::finite_check{}, lab::only_descent{},
                              lab::as_it_is{}, lab::bf16_moments{}, lab::slices{}, lab::step_count{}>;
    int steps = 0;
    std::vector<float> weights(1001, 1.0f), gradients(1001);
    for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] = i % 2 == 0 ? 16.0f : -16.0f;

    hs::optimizer_step opt{recipe{}, lab::one_thread{}, lab::first_of_two{}, lab::step_count{&steps}};
    opt.bind(weights, gradients);
    CHECK(opt.loss_scale() == 16);
    CHECK(opt.step(0.25f).applied);
    CHECK(weights[0] == 0.5f);    // lr factor 2, unscaled by 16
    CHECK(weights[1] == 1.0f);    // a negative gradient, clipped
    CHECK(weights[500] == 1.0f);  // of the other rank
    gradients[900] = std::numeric_limits<float>::infinity();
    CHECK(opt.step(0.25f).applied);  // it belongs to the other rank
    gradients[3] = std::numeric_limits<float>::quiet_NaN();
    CHECK_FALSE(opt.step(0.25f).applied);
    CHECK(steps == 3);
}

// [snippet: headroom]
namespace lab {

/// Keeps the largest gradient, as stored, in [2^11, 2^13): fp16 ends at 2^16.
struct headroom_scaling {
    using slot = hs::loss_scaling_slot;
    float initial_scale = 0x1p16f;
    struct state {
        float scale;
    };
    HS_FUNCTION constexpr state initial() const { return {initial_scale}; }
    HS_FUNCTION constexpr float scale(state const& s) const { return s.scale; }
    HS_FUNCTION constexpr void update(state& s, hs::gradient_report const& r) const {
        const float largest = r.largest_magnitude;
        const float factor = r.overflowed         ? 0x1p-4f
                             : largest >= 0x1p13f ? 0.5f
                             : largest == 0       ? 1.0f
                             : largest < 0x1p11f  ? 2.0f
                                                  : 1.0f;
        const float next = s.scale * factor;
        if (next >= 0x1p-100f && next <= 0x1p100f) s.scale = next;  // so that its reciprocal stays finite
    }
};
static_assert(hs::loss_scaling<headroom_scaling>);

/// nonfinite_check that asks for the largest magnitude as well.
struct magnitude_check {
    using slot = hs::overflow_detection_slot;
    static constexpr hs::gradient_statistics needs{.largest_magnitude = true};

    template <class Real>
    HS_FUNCTION constexpr auto flags(Real gradient) const {
        using hs::is_nonfinite;
        return is_nonfinite(gradient);
    }
    HS_FUNCTION constexpr bool overflowed(hs::gradient_report const& r) const { return r.flagged; }
};
static_assert(hs::overflow_detection<magnitude_check>);

}  // namespace lab
// [end]

// [snippet: headroom-test]
constexpr float next_scale(float largest, bool overflowed) {
    lab::headroom_scaling::state state{1024};
    hs::gradient_report report;
    report.largest_magnitude = largest;
    report.overflowed = overflowed;
    lab::headroom_scaling{}.update(state, report);
    return state.scale;
}
static_assert(next_scale(4096, false) == 1024 && next_scale(2, false) == 2048 && next_scale(8192, false) == 512);
static_assert(next_scale(2, true) == 64);     // law: an overflow never raises the scale
static_assert(next_scale(0, false) == 1024);  // nobody asked for the magnitude, or all gradients are zero
// [end]

TEST_CASE("headroom_scaling brings the largest gradient into its band") {
    using recipe = hs::recipe<hs::fp16{}, hs::sgd<>{}, lab::headroom_scaling{}, lab::magnitude_check{}>;
    hs::optimizer_step opt{recipe{}};
    std::vector<hs::fp16> weights(100), gradients(100);
    opt.bind(weights, gradients);
    for (int i = 0; i < 20; ++i) {
        gradients[70] = hs::fp16(1e-5f * opt.loss_scale());
        opt.step(0.1f);
    }
    CHECK(opt.loss_scale() == 0x1p28f);  // 1e-5 * 2^28 = 2684
}

// [snippet: saturation]
namespace lab {

/// Conversions to fp8_e4m3 saturate: an overflow arrives as the largest finite value. Flags it, and every NaN.
struct saturation_check {
    using slot = hs::overflow_detection_slot;

    template <class T, class Bits>  // each gradient as the bits of its type, for a group of gradient type T
    HS_FUNCTION static constexpr auto flags_bits(Bits bits) {
        using traits = hs::dtype_traits<T>;
        return (bits & Bits(hs::format::magnitude_mask<traits>)) >= Bits(traits::largest_bits);
    }
    HS_FUNCTION constexpr bool overflowed(hs::gradient_report const& r) const { return r.flagged; }
};
static_assert(hs::bit_detection<saturation_check, hs::fp8_e4m3>);

}  // namespace lab
// [end]

// [snippet: saturation-test]
constexpr bool flags(float gradient) {
    return lab::saturation_check::flags_bits<hs::fp8_e4m3>(std::uint32_t{hs::fp8_e4m3(gradient).bits});
}
static_assert(!flags(400) && flags(500) && flags(-1e30f) && flags(std::numeric_limits<float>::quiet_NaN()));
// [end]

TEST_CASE("saturation_check sees an fp8 gradient that was too large, wherever it stands") {
    using recipe = hs::recipe<hs::fp8_e4m3{}, hs::sgd<>{}, lab::saturation_check{}>;
    hs::optimizer_step opt{recipe{}};
    std::vector<hs::fp8_e4m3> weights(100), gradients(100);
    opt.bind(weights, gradients);
    CHECK(opt.step(0.1f).applied);
    for (std::size_t place : {std::size_t{0}, std::size_t{63}, std::size_t{99}}) {
        gradients[place] = hs::fp8_e4m3(1e5f);
        CHECK_FALSE(opt.step(0.1f).applied);
        gradients[place] = hs::fp8_e4m3(0.0f);
    }
}

// [snippet: remainder]
namespace lab {

/// A bf16 parameter and, in one byte, what rounding it left behind: three bytes instead of the six of fp32_master.
struct fp8_remainder {
    using slot = hs::storage_slot;
    template <class T>
    using companion = hs::fp8_e5m2;

    HS_FUNCTION constexpr hs::fp8_e5m2 initial(hs::bf16) const { return hs::fp8_e5m2(0.0f); }

    template <class Stored, class Remainder>
    HS_FUNCTION constexpr auto load(Stored parameter, Remainder remainder) const {
        using hs::fma, hs::widen;
        using Real = decltype(widen(parameter));
        return fma(widen(remainder), Real(0x1p-12f), widen(parameter));
    }
    template <class Real, class Stored, class Remainder>
    HS_FUNCTION constexpr void store(Real value, Stored& parameter, Remainder& remainder, hs::noise<Real>) const {
        using hs::round_into, hs::widen;
        round_into(parameter, value);
        round_into(remainder, (value - widen(parameter)) * Real(0x1p12f));
    }
};
static_assert(hs::storage_rule_for<fp8_remainder, hs::bf16> && !hs::storage_rule_for<fp8_remainder, hs::fp16>);

}  // namespace lab
// [end]

// [snippet: remainder-test]
constexpr float stored_and_loaded(float value) {
    constexpr lab::fp8_remainder storage;
    hs::bf16 parameter{};
    hs::fp8_e5m2 remainder = storage.initial(parameter);
    storage.store(value, parameter, remainder, hs::noise<float>{});
    return storage.load(parameter, remainder);
}
static_assert(lab::fp8_remainder{}.load(hs::bf16(0.7f), lab::fp8_remainder{}.initial(hs::bf16(0.7f))) ==
              hs::widen(hs::bf16(0.7f)));  // law: right after bind, load gives the parameter's value exactly
static_assert(stored_and_loaded(1 + 0x1p-10f) == 1 + 0x1p-10f);  // bf16 alone would give 1
// [end]

// [snippet: signum]
namespace lab {

/// signSGD with momentum (Bernstein et al., 2018):  m <- beta m + (1 - beta) g;  p <- p - lr sign(m).
struct signum {
    using slot = hs::update_rule_slot;
    static constexpr int moments = 1;
    float beta = 0.9f;  // in [0, 1)

    struct coefficients {
        float beta, one_minus_beta, lr;
    };
    HS_FUNCTION constexpr coefficients prepare(hs::rule_input const& in) const {
        return {beta, static_cast<float>(1 - static_cast<double>(beta)), in.lr};
    }
    template <class Real>
    HS_FUNCTION constexpr void update(coefficients const& c, Real& parameter, Real gradient,
                                      hs::values<Real, 1>& moment) const {
        using hs::fma, hs::select;
        const Real zero(0.0f);
        moment[0] = fma(Real(c.beta), moment[0], Real(c.one_minus_beta) * gradient);
        const Real step = select(moment[0] > zero, Real(c.lr), select(moment[0] < zero, Real(-c.lr), moment[0]));
        parameter = parameter - step;
    }
    constexpr void validate() const {
        if (!(beta >= 0 && beta < 1)) throw std::invalid_argument("lab: signum.beta must lie in [0, 1)");
    }
};
static_assert(hs::elementwise_rule<signum>);

}  // namespace lab
// [end]

// [snippet: signum-test]
constexpr float updated(float parameter, float gradient) {
    constexpr lab::signum rule;
    hs::values<float, 1> moment{};
    rule.update(rule.prepare({.lr = 0.5f, .weight_decay_factor = 1, .step = 1}), parameter, gradient, moment);
    return parameter;
}
static_assert(updated(2, 1e-3f) == 1.5f && updated(2, -7) == 2.5f);
static_assert(updated(0, 0) == 0);  // law: what is zero stays zero
// [end]

TEST_CASE("On lanes a policy gives the bits that it gives on plain numbers") {
    // [snippet: lanes-test]
    using recipe = hs::recipe<hs::bf16{}, lab::signum{}, lab::fp8_remainder{}>;
    constexpr std::size_t size = 1003;  // whole lanes and a rest
    std::vector<hs::bf16> weights(size), gradients(size);
    for (std::size_t i = 0; i < size; ++i) {
        weights[i] = hs::bf16(0.001f * static_cast<float>(i % 77));
        gradients[i] = hs::bf16(static_cast<float>(i % 5) - 2);
    }
    std::vector<hs::bf16> expected = weights;
    std::vector<hs::fp8_e5m2> remainders(size, hs::fp8_e5m2(0.0f));
    std::vector<hs::values<float, 1>> moments(size);

    hs::optimizer_step opt{recipe{}};
    opt.bind(weights, gradients);
    constexpr lab::signum rule;
    constexpr lab::fp8_remainder storage;
    for (int step = 1; step <= 5; ++step) {
        opt.step(1e-4f);
        const auto c = rule.prepare({.lr = 1e-4f, .weight_decay_factor = 1, .step = step});
        for (std::size_t i = 0; i < size; ++i) {
            float value = storage.load(expected[i], remainders[i]);
            rule.update(c, value, hs::widen(gradients[i]), moments[i]);
            storage.store(value, expected[i], remainders[i], hs::noise<float>{});
        }
    }
    CHECK(weights == expected);
    // [end]
    CHECK(weights[76] != hs::bf16(0.076f));
}
