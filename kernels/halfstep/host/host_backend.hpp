// SPDX-License-Identifier: Apache-2.0
/// The host backend: OpenMP over segments, SIMD inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include <halfstep/concepts/execution_backend.hpp>
#include <halfstep/host/buffer.hpp>
#include <halfstep/host/inspect.hpp>
#include <halfstep/host/threads.hpp>
#include <halfstep/host/update.hpp>

namespace halfstep::inline HS_INSTRUCTION_SET {

/// Runs steps on the CPU, over the caller's own memory. The default.
///
/// Bits do not depend on the number of threads, on the instruction set or on the alignment of tensors.
struct host_backend {
    using slot = execution_backend_slot;
    static constexpr bool device_memory = false;
    static constexpr bool synchronous = true;
    using buffer = host::buffer;

    int threads = 0;  ///< 0: as many as OpenMP takes by itself; small steps use fewer. Without OpenMP always one
    /// A thread gets at least so many elements: a parallel region costs about a microsecond.
    std::int64_t elements_per_thread = 16384;
    /// Narrow parameters are written past the caches where a step touches more bytes than this: streaming gains beyond
    /// the second-level cache and loses inside it.
    std::int64_t stream_above_bytes = std::int64_t{4} << 20;

    buffer allocate(std::size_t bytes) const { return buffer(bytes); }
    void write(std::byte* to, std::byte const* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }
    void read(std::byte* to, std::byte const* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }

    /// Companions from the parameters as they are.
    template <class Values, class Table>
    void initialise([[maybe_unused]] Values const& policies, [[maybe_unused]] Table const& table) const {
        if constexpr (!std::is_empty_v<typename Table::layout::companion>) {
            host::walk_in_parallel(table, threads_for(table.elements),
                                   [&](tensor_row const& row, std::int64_t first, std::int64_t n, auto) {
                                       auto* const companions = table.companions + row.state_offset;
                                       for (std::int64_t i = first; i < first + n; ++i) {
                                           typename Table::type parameter;  // its bytes may be those of a foreign type
                                           std::memcpy(static_cast<void*>(&parameter), table.parameter(row) + i,
                                                       sizeof parameter);
                                           companions[i] = policies.storage.initial(parameter);
                                       }
                                   });
        }
    }

    /// A report a row, folded from what the last inspection left.
    HS_NOINLINE std::vector<gradient_report> tensor_reports(group_rows const& table) const {
        std::vector<gradient_report> reports(static_cast<std::size_t>(table.row_count));
        for (std::size_t r = 0; r < reports.size(); ++r) {
            partial_fold fold;
            fold.add(table.partials + table.rows[r].first_segment, segments_of(table.rows[r].size));
            reports[r] = fold.result();
        }
        return reports;
    }

    template <class Context>
    void inspect(Context& context) const {
        look(context);
        context.agree();
        context.note_micro_batch();
    }

    template <class Context>
    void run(Context& context, step_input const& in) const {
        context.reduce();
        look(context);
        context.agree();
        context.decide(in);
        if (context.control().last.applied) {
            update(context);
            context.publish();
        }
    }

  private:
    int threads_for(std::int64_t elements) const {
        const int wanted = threads > 0 ? threads : host::default_threads();
        const std::int64_t useful = elements / (elements_per_thread > 0 ? elements_per_thread : 1);
        return static_cast<int>(useful < wanted ? (useful < 1 ? 1 : useful) : wanted);
    }
    /// The update of one group, as host::group_inspection is its inspection: a pass over them needs no types.
    struct group_update {
        group_rows const* table;
        std::int64_t bytes;  ///< of one element, touched
        void const* context;
        void (*update)(void const* context, host::work_range segments, bool stream);
    };

    /// 2. Reports of all groups, from one read of their gradients.
    template <class Context>
    void look(Context& context) const {
        using composition = typename Context::composition;
        host::group_inspection inspections[composition::group_count];
        std::size_t count = 0;
        context.for_each_table([&](auto const& policies, auto const& table, auto g) {
            using inspection = typename composition::template inspection<g>;
            using gradient_type = typename std::remove_cvref_t<decltype(table)>::gradient_type;
            using detection = std::remove_cvref_t<decltype(policies.detection)>;
            if constexpr (inspection::looks)
                inspections[count++] = {&table, &context.control().reports[g], &policies.detection,
                                        static_cast<std::int64_t>(sizeof(gradient_type)),
                                        &host::inspect_untyped<inspection::wanted, gradient_type, detection>};
        });
        inspect_all(inspections, count);
    }
    HS_NOINLINE void inspect_all(host::group_inspection const* groups, std::size_t group_count) const {
        std::int64_t elements = 0;
        for (std::size_t g = 0; g < group_count; ++g) elements += groups[g].table->elements;
        host::parallel(threads_for(elements), [&](int thread, int count) {
            for (std::size_t g = 0; g < group_count; ++g) {
                const auto part = host::share(groups[g].table->segments, thread, count);
                groups[g].inspect_segments(part.begin, part.end);
            }
        });
        for (std::size_t g = 0; g < group_count; ++g) {
            partial_fold fold;
            fold.add(groups[g].table->partials, groups[g].table->segments);
            *groups[g].report = fold.result();
        }
    }

    /// 5. One pass over everything that changes.
    template <class Context>
    void update(Context const& context) const {
        group_update updates[Context::composition::group_count];
        std::size_t count = 0;
        context.for_each_table([&](auto const&, auto const& table, auto g) {
            updates[count++] = {&table, bytes_of(table), &context, &update_group<Context, g>};
        });
        update_all(updates, count);
    }
    HS_NOINLINE void update_all(group_update const* groups, std::size_t group_count) const {
        std::int64_t elements = 0, bytes = 0;
        for (std::size_t g = 0; g < group_count; ++g) {
            elements += groups[g].table->elements;
            bytes += groups[g].table->elements * groups[g].bytes;
        }
        host::parallel(threads_for(elements), [&](int thread, int count) {
            for (std::size_t g = 0; g < group_count; ++g)
                groups[g].update(groups[g].context, host::share(groups[g].table->segments, thread, count),
                                 bytes > stream_above_bytes);
        });
    }
    template <class Layout>
    static constexpr std::int64_t bytes_of(group_table<Layout> const&) {
        return static_cast<std::int64_t>(sizeof(typename Layout::type) + sizeof(typename Layout::gradient_type) +
                                         Layout::moments * sizeof(typename Layout::moment)) +
               (std::is_empty_v<typename Layout::companion>
                    ? 0
                    : static_cast<std::int64_t>(sizeof(typename Layout::companion)));
    }
    template <class Context, std::size_t G>
    static void update_group(void const* type_erased, host::work_range part, bool stream) {
        auto const& context = *static_cast<Context const*>(type_erased);
        auto const& policies = context.policies();
        host::update_segments(policies.clipping, get<G>(policies.groups), get<G>(context.control().decisions),
                              context.template table<G>(), part, stream);
    }
};
static_assert(execution_backend<host_backend>);

}  // namespace halfstep::inline HS_INSTRUCTION_SET
