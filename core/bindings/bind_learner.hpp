// What every learner of the core looks like from Python: arrays in, arrays filled. Conversion only.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "treecv/crew.hpp"

namespace treecv::bindings {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;
using Bytes = Vector<std::uint8_t>;
using ReadOnlyBytes = Vector<const std::uint8_t>;
using Positions = Vector<const std::int64_t>;
using OnState = nb::typed<nb::callable, void(std::int64_t, nb::bytes)>;

inline void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

inline const std::byte* bytes_of(const ReadOnlyBytes& state, std::size_t expected) {
    require(state.size() == expected, "the state has not the size this learner needs for these rows");
    require(reinterpret_cast<std::uintptr_t>(state.data()) % alignof(double) == 0,
            "the state is not aligned");
    return reinterpret_cast<const std::byte*>(state.data());
}

inline std::byte* bytes_of(const Bytes& state, std::size_t expected) {
    bytes_of(ReadOnlyBytes(state), expected);
    return reinterpret_cast<std::byte*>(state.data());
}

template <class T>
void require_rows(const Matrix<T>& X) {
    require(X.shape(0) > 0, "X has no rows");
    require(X.shape(1) < 2 || X.stride(1) == 1, "the values of a row of X must lie side by side");
    require(X.shape(0) < 2 || X.stride(0) >= static_cast<std::int64_t>(X.shape(1)),
            "the rows of X must not overlap");
}

inline void require_index(const Positions& index, std::size_t stored) {
    const auto n = static_cast<std::int64_t>(stored);
    require(std::all_of(index.data(), index.data() + index.size(),
                        [n](std::int64_t row) { return 0 <= row && row < n; }),
            "the index names a row that X does not have");
}

// What Python passes for a table of numbers, and how it is checked and read.
template <class Storage>
struct Table;

template <class T>
struct Table<Dense<T>> {
    using Argument = Matrix<const T>;

    static std::int64_t size(const Argument& X) { return static_cast<std::int64_t>(X.shape(0)); }

    static Dense<T> read(const Argument& X, std::int64_t n_features) {
        require_rows(X);
        require(static_cast<std::int64_t>(X.shape(1)) == n_features, "X has another width than the learner");
        return {X.data(), size(X), n_features, X.stride(0)};
    }
};

// The three arrays of compressed sparse rows: values, indices, and where each row begins.
template <class T>
struct Table<Sparse<T>> {
    using Argument = std::tuple<Vector<const T>, Vector<const std::int32_t>, Vector<const std::int64_t>>;

    static std::int64_t size(const Argument& X) {
        return static_cast<std::int64_t>(std::get<2>(X).size()) - 1;
    }

    static Sparse<T> read(const Argument& X, std::int64_t n_features) {
        const auto& [values, indices, begins] = X;
        require(begins.size() > 1, "X has no rows");
        require(values.size() == indices.size(), "X has not one index for each value");
        require(begins.data()[0] == 0 &&
                    begins.data()[begins.size() - 1] == static_cast<std::int64_t>(values.size()) &&
                    std::is_sorted(begins.data(), begins.data() + begins.size()),
                "the rows of X must begin where the ones before end");
        for (std::size_t row = 0; row + 1 < begins.size(); ++row)
            for (std::int64_t i = begins.data()[row]; i < begins.data()[row + 1]; ++i)
                require(indices.data()[i] < n_features &&
                            indices.data()[i] >= (i == begins.data()[row] ? 0 : indices.data()[i - 1] + 1),
                        "the indices of a row of X must rise, and lie below the number of features");
        return {values.data(), indices.data(), begins.data(), size(X), n_features};
    }
};

template <class L>
using Argument = typename Table<typename L::Storage>::Argument;
template <class L>
using Targets = Vector<const typename L::Target>;
using Weights = Vector<const double>;

template <Learner L>
Rows<typename L::Storage, typename L::Target> rows_of(const L& learner, const Argument<L>& X,
                                                      const std::optional<Targets<L>>& y,
                                                      const std::optional<Weights>& weights,
                                                      const std::optional<Positions>& index) {
    const auto table = Table<typename L::Storage>::read(X, learner.n_features());
    const auto n = static_cast<std::size_t>(table.n_stored);
    require(!y || y->size() == n, "X and y differ in length");
    require(!weights || weights->size() == n, "X and weights differ in length");
    if (index) require_index(*index, n);
    return {table, y ? y->data() : nullptr, weights ? weights->data() : nullptr,
            index ? index->data() : nullptr};
}

inline std::int64_t length(std::int64_t stored, const std::optional<Positions>& index) {
    return index ? static_cast<std::int64_t>(index->size()) : stored;
}

inline Order order_named(const std::string& name) {
    if (name == "fixed") return Order::fixed;
    if (name == "randomized") return Order::randomized;
    require(name == "blocks", "an order is 'fixed', 'randomized' or 'blocks'");
    return Order::blocks;
}

// Lets Ctrl-C through while the core holds no lock.
inline void heed_signals() {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

template <class T>
T* data_or_null(const std::optional<Vector<T>>& array) {
    return array ? array->data() : nullptr;
}

// The folds of n positions; without offsets each position is one.
inline Chunks chunks_of(const std::optional<Positions>& offsets, std::int64_t n) {
    const Chunks chunks{data_or_null(offsets), offsets ? static_cast<std::int64_t>(offsets->size()) - 1 : n};
    require(chunks.k >= 1 && chunks.begin(0) >= 0 && chunks.begin(chunks.k) == n &&
                (!offsets || std::is_sorted(offsets->data(), offsets->data() + offsets->size())),
            "the offsets of the chunks must rise from 0 or more to the number of rows");
    return chunks;
}

// The arguments of a cross-validation, checked.
template <Learner L>
struct Task {
    Rows<typename L::Storage, typename L::Target> rows;
    Chunks chunks;
    Order order;
    Stream stream;
    Sink<L> sink;
};

template <Learner L>
Task<L> task(const L& learner, const Argument<L>& X, const std::optional<Targets<L>>& y,
             const std::optional<Weights>& weights, const std::optional<Positions>& index,
             const std::optional<Positions>& offsets, const std::string& order, std::uint64_t seed,
             std::uint64_t repetition, const std::optional<Vector<double>>& predictions, const Bytes& failed,
             const std::optional<Argument<L>>& extra, const std::optional<Vector<double>>& extra_predictions,
             const std::optional<OnState>& on_state) {
    const auto rows = rows_of(learner, X, y, weights, index);
    require(rows.y || !L::supervised, "this learner needs y");
    const std::int64_t n = length(rows.X.n_stored, index), outputs = learner.n_outputs();
    const Chunks chunks = chunks_of(offsets, n);
    require(n <= std::int64_t{0xffffffff} || order_named(order) == Order::fixed,
            "only the order 'fixed' is offered for more than 4294967295 rows");
    require(static_cast<std::int64_t>(failed.size()) == chunks.k, "`failed` needs one byte a fold");
    require(!predictions || static_cast<std::int64_t>(predictions->size()) == rows.X.n_stored * outputs,
            "`predictions` needs a number for each output of each stored row");
    require(extra.has_value() == extra_predictions.has_value(), "`extra` and its predictions go together");
    Sink<L> sink{predictions ? predictions->data() : nullptr, failed.data(), {}, 0, nullptr, {}, {}};
    if (extra && Table<typename L::Storage>::size(*extra) > 0) {
        sink.extra = rows_of(learner, *extra, std::nullopt, std::nullopt, std::nullopt);
        sink.n_extra = sink.extra.X.n_stored;
        require(
            static_cast<std::int64_t>(extra_predictions->size()) == chunks.k * sink.n_extra * outputs,
            "the predictions of `extra` need a number for each output of each of its rows, for every fold");
        sink.extra_predictions = extra_predictions->data();
    }
    if (on_state)
        sink.on_state = [call = *on_state, size = learner.state_bytes()](std::int64_t fold,
                                                                         const std::byte* state) {
            nb::gil_scoped_acquire gil;
            call(fold, nb::bytes(reinterpret_cast<const char*>(state), size));
        };
    return {rows, chunks, order_named(order), Stream(seed).at(repetition), std::move(sink)};
}

// Chunk updates, row updates, copies, live states; then the first fold that overflowed (-1: none) and the
// rows that its model had learnt by then.
using Report = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

inline Report report(const Counts& counts, const Overflow& overflow) {
    return {counts.chunk_updates, counts.row_updates, counts.copies,
            counts.live,          overflow.fold,      overflow.rows};
}

// Binds a way to the leaves: `alone` works in this thread, `side_by_side` with a crew; both get, last, the
// arguments that only this way has.
template <class... Own, Learner L, class Alone, class Crowd, class... Names>
void bind_way(nb::class_<L>& cls, const char* name, Alone alone, Crowd side_by_side,
              const Names&... own_names) {
    cls.def(
        name,
        [alone, side_by_side](
            const L& learner, const Bytes& state, const Argument<L>& x, const std::optional<Targets<L>>& y,
            const std::optional<Weights>& weights, const std::optional<Positions>& index,
            const std::optional<Positions>& offsets, const std::string& order, std::uint64_t seed,
            std::uint64_t repetition, const std::optional<Vector<double>>& predictions, const Bytes& failed,
            const std::optional<Argument<L>>& extra, const std::optional<Vector<double>>& extra_predictions,
            const std::optional<OnState>& on_state, int threads, const Own&... own) {
            std::byte* bytes = bytes_of(state, learner.state_bytes());
            Task<L> job = task(learner, x, y, weights, index, offsets, order, seed, repetition, predictions,
                               failed, extra, extra_predictions, on_state);
            Counts counts;
            nb::gil_scoped_release nogil;
            if (threads > 1 && !on_state) {  // Python could take one state at a time only
                Crew<L> crew(learner, job.rows, job.chunks, job.order, job.stream, threads);
                counts = side_by_side(crew, bytes, job, own...);
            } else {
                Patience interruptible(heed_signals);
                Feed<L> feed(learner, job.rows, job.chunks, job.order, job.stream, interruptible, counts);
                alone(learner, bytes, job, feed, interruptible, counts, own...);
            }
            return report(counts, job.sink.overflow);
        },
        nb::arg("state").noconvert(), nb::arg("X").noconvert(), nb::arg("y").noconvert().none(),
        nb::kw_only(), nb::arg("weights").noconvert().none() = nb::none(),
        nb::arg("index").noconvert().none(), nb::arg("offsets").noconvert().none(), nb::arg("order"),
        nb::arg("seed"), nb::arg("repetition"), nb::arg("predictions").noconvert().none(),
        nb::arg("failed").noconvert(), nb::arg("extra").noconvert().none(),
        nb::arg("extra_predictions").noconvert().none(), nb::arg("on_state").none(), nb::arg("threads") = 1,
        own_names...);
}

template <Learner L>
void bind_learner(nb::class_<L>& cls) {
    cls.def_prop_ro("state_bytes", &L::state_bytes);
    cls.def_prop_ro("lanes", [](const L&) { return L::lanes; });

    cls.def(
        "update",
        [](const L& learner, const Bytes& state, const Argument<L>& x, const std::optional<Targets<L>>& y,
           const std::optional<Positions>& index, const std::optional<Weights>& weights) {
            std::byte* bytes = bytes_of(state, learner.state_bytes());
            if (length(Table<typename L::Storage>::size(x), index) == 0) return;
            const auto rows = rows_of(learner, x, y, weights, index);
            require(rows.y || !L::supervised, "this learner needs y");
            const std::int64_t offsets[] = {0, length(rows.X.n_stored, index)};
            const Chunks chunks{offsets, 1};
            Counts counts;
            nb::gil_scoped_release nogil;
            Patience interruptible(heed_signals);
            Feed<L> feed(learner, rows, chunks, Order::fixed, Stream(0), interruptible, counts);
            feed.learn({bytes, Lesson::of(0, 0), 0, 0, 0});
        },
        nb::arg("state").noconvert(), nb::arg("X").noconvert(), nb::arg("y").noconvert().none(),
        nb::arg("index").noconvert() = nb::none(), nb::arg("weights").noconvert() = nb::none());

    cls.def(
        "predict",
        [](const L& learner, const ReadOnlyBytes& state, const Argument<L>& x, const Vector<double>& out,
           const std::optional<Positions>& index) {
            const std::byte* bytes = bytes_of(state, learner.state_bytes());
            const std::int64_t n = length(Table<typename L::Storage>::size(x), index);
            const std::int64_t outputs = learner.n_outputs();
            require(static_cast<std::int64_t>(out.size()) == n * outputs,
                    "`out` needs a number for each output of a row");
            if (n == 0) return;
            const auto rows = rows_of(learner, x, std::nullopt, std::nullopt, index);
            nb::gil_scoped_release nogil;
            Patience interruptible(heed_signals);
            typename L::Scratch scratch = learner.scratch();
            if constexpr (requires { learner.ready(bytes, scratch); }) learner.ready(bytes, scratch);
            for (std::int64_t i = 0; i < n; ++i) {
                const std::int64_t row = rows.row(i);
                learner.predict(bytes, learner.row(rows.X, row), out.data() + i * outputs, scratch);
                interruptible.spend(rows.X.work(row));
            }
        },
        nb::arg("state").noconvert(), nb::arg("X").noconvert(), nb::arg("out").noconvert(),
        nb::arg("index").noconvert() = nb::none());

    const auto check_node = [](const Task<L>& job, std::int64_t first, std::int64_t last) {
        require(0 <= first && first <= last && last < job.chunks.k, "no such node in the tree");
    };
    bind_way<std::int64_t, std::int64_t>(
        cls, "walk",
        [check_node](const L& learner, std::byte* state, Task<L>& job, Feed<L>& feed, Patience& interruptible,
                     Counts& counts, std::int64_t first, std::int64_t last) {
            check_node(job, first, last);
            Tree<L>(learner, feed, job.sink, interruptible, counts).walk(state, first, last);
        },
        [check_node](Crew<L>& crew, const std::byte* state, Task<L>& job, std::int64_t first,
                     std::int64_t last) {
            check_node(job, first, last);
            return crew.walk(state, first, last, job.sink, heed_signals);
        },
        nb::arg("first"), nb::arg("last"));

    const auto wanted = [](const Task<L>& job, const Positions& folds) {
        const std::span<const std::int64_t> all(folds.data(), folds.size());
        for (const std::int64_t fold : all) require(0 <= fold && fold < job.chunks.k, "no such fold");
        return all;
    };
    bind_way<Positions>(
        cls, "standard",
        [wanted](const L& learner, const std::byte* state, Task<L>& job, Feed<L>& feed,
                 Patience& interruptible, Counts& counts, const Positions& folds) {
            treecv::standard(learner, feed, job.sink, state, wanted(job, folds), interruptible, counts);
        },
        [wanted](Crew<L>& crew, const std::byte* state, Task<L>& job, const Positions& folds) {
            return crew.standard(state, wanted(job, folds), job.sink, heed_signals);
        },
        nb::arg("folds").noconvert());
}

}  // namespace treecv::bindings
