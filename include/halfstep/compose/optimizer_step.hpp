// SPDX-License-Identifier: Apache-2.0
/// The step itself: a recipe, a backend and a communicator, and the tensors bound to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <halfstep/compose/bindable.hpp>
#include <halfstep/compose/construction.hpp>
#include <halfstep/compose/control_storage.hpp>
#include <halfstep/compose/group_storage.hpp>
#include <halfstep/compose/invalid_step.hpp>
#include <halfstep/compose/on.hpp>
#include <halfstep/compose/recipe.hpp>
#include <halfstep/compose/step_context.hpp>
#include <halfstep/compose/step_values.hpp>
#include <halfstep/core/type_name.hpp>

namespace halfstep {

namespace detail {

// What is said at run time. No templates: a file compiles the text once and not once a composition.
[[noreturn]] HS_COLD inline void refuse_unbound(std::string_view tag) {
    throw std::logic_error("halfstep: step before bind<" + std::string(tag) +
                           ">: every group is bound first, an empty one with no tensors");
}
HS_NOINLINE inline void refuse_invalid(step_input const& in) {
    if (!(in.lr >= 0) || is_nonfinite(in.lr))
        throw std::invalid_argument("halfstep: step(lr) needs a finite learning rate that is not negative");
    if (in.micro_batches < 1) throw std::invalid_argument("halfstep: step: micro_batches must be at least 1");
}
HS_COLD inline void say_event(scaling_event event, float floor) {
    const std::string text =
        "halfstep: overflow with the loss scale at its floor of " + std::to_string(floor) + "; the step was skipped";
    if (event == scaling_event::raise_at_floor) throw std::runtime_error(text);
    std::fprintf(stderr, "%s\n", text.c_str());
}

}  // namespace detail

/// One stretch of the state of a step, as `visit_state` hands it out.
struct state_entry {
    std::string_view group;      ///< name of the group's tag; empty for the control block
    std::size_t tensor;          ///< number of the tensor in its group
    std::string_view component;  ///< "companion", "moment", "missed_steps" or "control"
    int number;                  ///< which moment
    std::span<std::byte> bytes;
};

/// Runs the steps of one composition. Build it from a recipe, then `bind` every group, then `step`.
///
/// Not copyable: others hold its addresses. Errors are exceptions; a call that throws std::invalid_argument or
/// std::logic_error has changed nothing.
template <class Composition, class Backend = defaults::backend, class Communicator = defaults::communicator>
class optimizer_step {
    template <class Plan>
    using storage_of = group_storage<Plan, Backend>;
    using groups_type = typename Composition::template pack_of<storage_of>;
    using context_type = step_context<Composition, Communicator, groups_type>;
    using control_block = typename Composition::control_block;
    static constexpr bool records = !std::is_empty_v<typename Composition::telemetry::recorder>;

    static_assert(execution_backend<Backend> || diagnose::an_execution_backend<Backend>());
    static_assert(communicator<Communicator> || diagnose::a_communicator<Communicator>());

  public:
    /// `opt{recipe}`, or with a backend, a communicator, and other values for policies of the recipe, in any order.
    /// Values are validated by the policies' own `validate`, which throws std::invalid_argument.
    template <auto... Entries, class... Arguments>
    explicit optimizer_step(recipe<Entries...> chosen, Arguments&&... arguments)
        : optimizer_step(step_values<Composition>::of(chosen, arguments...),
                         detail::argument<execution_backend_slot, Backend>(std::forward<Arguments>(arguments)...),
                         detail::argument<communicator_slot, Communicator>(std::forward<Arguments>(arguments)...)) {
        static_assert(
            std::is_same_v<typename recipe<Entries...>::composition, Composition>,
            "halfstep: this type of step was composed from other policies than this recipe's; write optimizer_step "
            "opt{recipe{}}, and it is deduced");
    }
    optimizer_step(optimizer_step const&) = delete;
    optimizer_step& operator=(optimizer_step const&) = delete;

    /// Hands the group `Tag` its tensors: a range of tensors, or one tensor, each. `gradients` match `parameters` in
    /// number and size; a view without data says that a parameter has no gradient. Master weights and the like are made
    /// from the parameters as they are now; moments start at zero. Allocates. Throws std::invalid_argument naming the
    /// tensor, and leaves the group as it was.
    template <class Tag, class Parameters, class Gradients>
    void bind(Parameters&& parameters, Gradients&& gradients) {
        constexpr std::size_t g = group_index<Composition, Tag>();
        if constexpr (g < Composition::group_count) {
            using storage = std::remove_reference_t<decltype(get<g>(groups_))>;
            constexpr bool trains = plan_at<g>::group::trains;
            static_assert(trains, "halfstep: a frozen group has no gradients; bind its parameters alone");
            if constexpr (trains) {
                using type = typename storage::type;
                using gradient_type = typename storage::gradient_type;
                if constexpr (!bindable::parameters<Parameters, type>) {
                    diagnose::bound_parameters<Parameters, type>();
                } else if constexpr (!bindable::gradients<Gradients, gradient_type, averages_in_place>) {
                    diagnose::bound_gradients<Gradients, gradient_type, averages_in_place>();
                } else {
                    group_tensors tensors(type_name<Tag>(), untyped<type>(parameters),
                                          untyped<gradient_element<gradient_type>>(gradients), alignof(type),
                                          alignof(gradient_type), backend_);
                    const flat_range owned =
                        sharding_.owned(tensors.elements(), communicator_.rank(), communicator_.size());
                    storage next(std::move(tensors), owned, applied_steps_now(), static_cast<std::uint32_t>(g),
                                 backend_);
                    if constexpr (initialises<Backend, decltype(get<g>(policies_.groups)), decltype(next.table())>)
                        backend_.initialise(get<g>(policies_.groups), next.table());
                    else
                        diagnose::an_initialising_backend<Backend, decltype(get<g>(policies_.groups)),
                                                          decltype(next.table())>();
                    get<g>(groups_) = std::move(next);
                }
            }
        }
    }
    /// The same for a recipe of one group.
    template <class Parameters, class Gradients>
    void bind(Parameters&& parameters, Gradients&& gradients) {
        constexpr bool one_group = Composition::group_count == 1;
        static_assert(one_group,
                      "halfstep: this recipe has several groups; say which one, as bind<tag>(parameters, gradients)");
        if constexpr (one_group)
            bind<tag_at<0>>(std::forward<Parameters>(parameters), std::forward<Gradients>(gradients));
    }
    /// Hands a frozen group its tensors.
    template <class Tag, class Parameters>
    void bind(Parameters&& parameters) {
        constexpr std::size_t g = group_index<Composition, Tag>();
        if constexpr (g < Composition::group_count) {
            using storage = std::remove_reference_t<decltype(get<g>(groups_))>;
            constexpr bool frozen = !plan_at<g>::group::trains;
            static_assert(frozen,
                          "halfstep: a group that trains is bound with its gradients, as bind(parameters, gradients)");
            if constexpr (frozen) {
                using type = typename storage::type;
                if constexpr (bindable::parameters<Parameters, type>)
                    get<g>(groups_) = storage(untyped<type>(parameters));
                else
                    diagnose::bound_parameters<Parameters, type>();
            }
        }
    }
    template <class Parameters>
    void bind(Parameters&& parameters) {
        constexpr bool one_group = Composition::group_count == 1;
        static_assert(one_group, "halfstep: this recipe has several groups; say which one, as bind<tag>(parameters)");
        if constexpr (one_group) bind<tag_at<0>>(std::forward<Parameters>(parameters));
    }

    /// New addresses for a group's gradients, in the order of `bind`; state stays.
    template <class Tag, class Gradients>
    void bind_gradients(Gradients&& gradients) {
        constexpr std::size_t g = group_index<Composition, Tag>();
        if constexpr (g < Composition::group_count) {
            constexpr bool trains = plan_at<g>::group::trains;
            static_assert(trains, "halfstep: a frozen group has no gradients to bind");
            if constexpr (trains) {
                auto& group = get<g>(groups_);
                using gradient_type = typename plan_at<g>::gradient_type;
                if constexpr (bindable::gradients<Gradients, gradient_type, averages_in_place>) {
                    if (!group.bound()) throw std::logic_error("halfstep: bind_gradients before bind");
                    group.set_gradients(untyped<gradient_element<gradient_type>>(gradients), backend_);
                } else {
                    diagnose::bound_gradients<Gradients, gradient_type, averages_in_place>();
                }
            }
        }
    }
    template <class Gradients>
    void bind_gradients(Gradients&& gradients) {
        constexpr bool one_group = Composition::group_count == 1;
        static_assert(one_group,
                      "halfstep: this recipe has several groups; say which one, as bind_gradients<tag>(gradients)");
        if constexpr (one_group) bind_gradients<tag_at<0>>(std::forward<Gradients>(gradients));
    }

    /// Multiply the loss by this, in fp32, before the backward pass. On a device it is a pointer to it there, to be
    /// read by kernels of the same stream: the host does not wait.
    auto loss_scale() const {
        if constexpr (Backend::device_memory)
            return static_cast<float const*>(&control_.memory()->last.next_loss_scale);
        else
            return control_.seen().last.next_loss_scale;
    }

    /// Looks at the gradients of one micro-batch. An overflow is remembered until the next step, which is then skipped;
    /// the loss scale moves only there. Not needed where micro-batches are added up in the bound gradients: inf and NaN
    /// survive a sum.
    void inspect_micro_batch() {
        require_bound();
        auto c = context();
        if constexpr (inspects<Backend, context_type>)
            backend_.inspect(c);
        else
            diagnose::an_inspecting_backend<Backend, context_type>();
    }

    /// One step: reduce, inspect, agree, decide, update, publish. Says whether it was applied; a skipped step changes
    /// no byte of parameters or state. Throws std::invalid_argument for a learning rate that is negative or not finite,
    /// std::runtime_error after a step that found the loss scale at a floor that raises.
    ///
    /// On a backend that is not synchronous it only launches, and returns nothing: see `read_back`.
    auto step(step_input const& in) {
        require_bound();
        detail::refuse_invalid(in);
        auto c = context();
        if constexpr (runs<Backend, context_type>)
            backend_.run(c, in);
        else
            diagnose::a_running_backend<Backend, context_type>();
        if constexpr (Backend::synchronous) {
            step_record const& last = control_.seen().last;
            recorder_.record(last);
            report_event();
            return last;
        }
    }
    auto step(float lr) { return step(step_input{.lr = lr}); }

    /// Waits for the launched steps and brings the counts below, the report and telemetry up to date; throws like
    /// `step`. On a synchronous backend they always are.
    step_record const& read_back() {
        if (control_.read_back(backend_, recorder_)) report_event();
        return control_.seen().last;
    }
    step_record const& last() const { return control_.seen().last; }
    std::int64_t applied_steps() const { return control_.seen().applied_steps; }
    std::int64_t skipped_steps() const { return control_.seen().skipped_steps; }
    /// The report on a group's gradients in the last step.
    template <class Tag>
    gradient_report const& report() const {
        constexpr std::size_t g = group_index<Composition, Tag>();
        return control_.seen().reports[g < Composition::group_count ? g : 0];
    }

    /// A report on each of a group's tensors, in the order of `bind`, from the gradients that were inspected last:
    /// which one overflowed, how large each one's are. Flags and maxima are the same on every backend, sums up to the
    /// order of their additions. Waits on a device.
    template <class Tag>
    std::vector<gradient_report> tensor_reports() {
        constexpr std::size_t g = group_index<Composition, Tag>();
        std::vector<gradient_report> reports;
        if constexpr (g < Composition::group_count) {
            constexpr bool looks = Composition::template inspection<g>::looks;
            static_assert(looks,
                          "halfstep: tensor_reports: nothing in this recipe looks at the gradients of that group");
            if constexpr (looks) {
                auto const& group = get<g>(groups_);
                using table = std::remove_cvref_t<decltype(group.table())>;
                reports.resize(group.parameters().size());
                if constexpr (reports_tensors<Backend, table>) {
                    const std::vector<gradient_report> of_rows = backend_.tensor_reports(group.table());
                    for (std::size_t r = 0; r < of_rows.size(); ++r) reports[group.slices()[r].tensor] = of_rows[r];
                } else {
                    diagnose::a_reporting_backend<Backend, table>();
                }
            }
        }
        return reports;
    }

    /// Bytes a parameter that the step keeps for a group, beside the parameter.
    template <class Tag>
    static constexpr std::size_t state_bytes() {
        constexpr std::size_t g = group_index<Composition, Tag>();
        return plan_at<(g < Composition::group_count ? g : 0)>::state_bytes;
    }

    /// `f(state_entry)` for the control block and every companion, moment and count of missed steps: all that a
    /// checkpoint needs, in one order. What `f` writes there takes effect.
    template <class F>
    void visit_state(F&& f) {
        const auto restored = [&](state_entry const& entry) {
            f(entry);
            // The scale follows from the state and this step's own numbers, whatever the saved step had.
            auto& control = *reinterpret_cast<control_block*>(entry.bytes.data());
            control.last.next_loss_scale = policies_.scaling.scale(control.scaling);
        };
        visit(restored, {}, 0, "control", 0, control_.memory(), 1);
        for_each_index<Composition::group_count>([&](auto g) {
            auto& group = get<g>(groups_);
            if constexpr (plan_at<g>::group::trains) {
                using layout = typename plan_at<g>::layout;
                const std::string_view name = type_name<tag_at<g>>();
                for (std::size_t r = 0; r < group.slices().size(); ++r) {
                    tensor_slice const& slice = group.slices()[r];
                    const std::size_t tensor = slice.tensor;
                    const auto size = static_cast<std::size_t>(slice.size);
                    if constexpr (!std::is_empty_v<typename layout::companion>)
                        visit(f, name, tensor, "companion", 0, group.companion(slice), size);
                    for (int k = 0; k < layout::moments; ++k)
                        visit(f, name, tensor, "moment", k, group.moment(slice, k), size);
                    visit(f, name, tensor, "missed_steps", 0, group.table().missed_steps + r, 1);
                }
            }
        });
    }

  private:
    optimizer_step(step_values<Composition> const& values, Backend backend, Communicator ranks)
        : backend_(std::move(backend)),
          communicator_(checked(std::move(ranks))),
          policies_(values.policies),
          sharding_(values.sharding),
          recorder_(values.telemetry),
          control_(backend_, first_block(policies_)) {}
    static Communicator checked(Communicator ranks) {
        if (ranks.size() < 1 || ranks.rank() < 0 || ranks.rank() >= ranks.size())
            throw std::invalid_argument("halfstep: a communicator's rank must lie in [0, size)");
        return ranks;
    }
    static control_block first_block(typename Composition::policy_values const& policies) {
        control_block first{};
        first.scaling = initial_state(policies.scaling);
        first.last.next_loss_scale = policies.scaling.scale(first.scaling);
        return first;
    }

    /// Shows `f` the bytes where they lie, or a copy that is written back to the device.
    template <class F, class T>
    void visit(F&& f, std::string_view group, std::size_t tensor, std::string_view component, int number, T* data,
               std::size_t count) {
        auto* bytes = reinterpret_cast<std::byte*>(data);
        if constexpr (Backend::device_memory) {
            std::vector<std::byte> copy(count * sizeof(T));
            backend_.read(copy.data(), bytes, copy.size());
            f(state_entry{group, tensor, component, number, copy});
            backend_.write(bytes, copy.data(), copy.size());
        } else {
            f(state_entry{group, tensor, component, number, {bytes, count * sizeof(T)}});
        }
    }

    template <std::size_t G>
    using plan_at = typename Composition::template plan<G>;
    template <std::size_t G>
    using tag_at = typename plan_at<G>::tag;

    /// Whether the ranks' mean is written over the gradients.
    static constexpr bool averages_in_place =
        !is_alone<Communicator> && Composition::sharding::gradients == gradient_collective::all_reduce;

    /// Gradients are read; where ranks average them in place, written as well.
    template <class T>
    using gradient_element = std::conditional_t<averages_in_place, T, T const>;

    std::int64_t applied_steps_now() {
        control_.read_back(backend_, recorder_);
        return control_.seen().applied_steps;
    }
    context_type context() {
        return {policies_, control_.memory(), control_.ring(), groups_, sharding_, communicator_};
    }
    void require_bound() const {
        for_each_index<Composition::group_count>([&](auto g) {
            if (!get<g>(groups_).bound()) detail::refuse_unbound(type_name<tag_at<g>>());
        });
    }
    void report_event() const {
        if constexpr (requires { policies_.scaling.event(control_.seen().scaling); }) {
            const scaling_event event = policies_.scaling.event(control_.seen().scaling);
            if (event != scaling_event::none) detail::say_event(event, control_.seen().last.next_loss_scale);
        }
    }

    Backend backend_;
    [[no_unique_address]] Communicator communicator_;
    typename Composition::policy_values policies_;
    [[no_unique_address]] typename Composition::sharding sharding_;
    [[no_unique_address]] typename Composition::telemetry::recorder recorder_;
    control_storage<control_block, Backend, records> control_;
    groups_type groups_{};
};

template <class Composition, class Backend, class Communicator>
inline constexpr bool detail::is_recipe_or_step<optimizer_step<Composition, Backend, Communicator>> = true;

template <auto... Entries, class... Arguments>
optimizer_step(recipe<Entries...>, Arguments&&...) -> optimizer_step<
    typename decltype(detail::constructed<
                      typename recipe<Entries...>::composition,
                      detail::argument_in_slot<execution_backend_slot, defaults::backend, Arguments...>,
                      detail::argument_in_slot<communicator_slot, defaults::communicator, Arguments...>,
                      std::remove_cvref_t<Arguments>...>())::type,
    detail::argument_in_slot<execution_backend_slot, defaults::backend, Arguments...>,
    detail::argument_in_slot<communicator_slot, defaults::communicator, Arguments...>>;
template <class NoRecipe, class... Arguments>
    requires(!detail::is_recipe_or_step<NoRecipe>)
optimizer_step(NoRecipe const&, Arguments&&...)
    -> optimizer_step<typename decltype(detail::constructed_without_recipe<NoRecipe>())::type>;

}  // namespace halfstep
