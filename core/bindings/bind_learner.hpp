// What every learner of the core looks like from Python: arrays in, arrays filled. Conversion only.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "treecv/standard.hpp"
#include "treecv/tree.hpp"

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

template <Learner L>
Rows<typename L::Value, typename L::Target> rows_of(const L& learner,
                                                    const Matrix<const typename L::Value>& X,
                                                    const std::optional<Vector<const typename L::Target>>& y,
                                                    const std::optional<Positions>& index) {
    require_rows(X);
    require(static_cast<std::int64_t>(X.shape(1)) == learner.n_features(),
            "X has another width than the learner");
    require(!y || y->shape(0) == X.shape(0), "X and y differ in length");
    if (index) require_index(*index, X.shape(0));
    return {X.data(),
            static_cast<std::int64_t>(X.shape(0)),
            learner.n_features(),
            X.stride(0),
            y ? y->data() : nullptr,
            index ? index->data() : nullptr};
}

inline std::int64_t length(std::size_t stored, const std::optional<Positions>& index) {
    return static_cast<std::int64_t>(index ? index->size() : stored);
}

inline Order order_named(const std::string& name) {
    if (name == "fixed") return Order::fixed;
    if (name == "randomized") return Order::randomized;
    require(name == "blocks", "an order is 'fixed', 'randomized' or 'blocks'");
    return Order::blocks;
}

// Lets Ctrl-C through while the core holds no lock.
inline Patience patience() {
    return Patience([] {
        nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    });
}

template <class T>
T* data_or_null(const std::optional<Vector<T>>& array) {
    return array ? array->data() : nullptr;
}

// The arguments of a cross-validation, checked.
template <Learner L>
struct Task {
    using Value = typename L::Value;
    using Target = typename L::Target;

    Rows<Value, Target> rows;
    Chunks chunks;
    Order order;
    Stream stream;
    Sink<L> sink;
};

template <Learner L>
Task<L> task(const L& learner, const Matrix<const typename L::Value>& X,
             const Vector<const typename L::Target>& y, const std::optional<Positions>& index,
             const std::optional<Positions>& offsets, const std::string& order, std::uint64_t seed,
             std::uint64_t repetition, const std::optional<Vector<double>>& predictions, const Bytes& failed,
             const std::optional<Matrix<const typename L::Value>>& extra,
             const std::optional<Matrix<double>>& extra_predictions, const std::optional<OnState>& on_state) {
    using Target = typename L::Target;
    const auto rows = rows_of(learner, X, std::optional<Vector<const Target>>(y), index);
    const std::int64_t n = length(X.shape(0), index);
    const Chunks chunks{data_or_null(offsets), offsets ? static_cast<std::int64_t>(offsets->size()) - 1 : n};
    require(chunks.k >= 1 && chunks.begin(0) >= 0 && chunks.begin(chunks.k) == n &&
                (!offsets || std::is_sorted(offsets->data(), offsets->data() + offsets->size())),
            "the offsets of the chunks must rise from 0 or more to the number of rows");
    require(n <= std::int64_t{0xffffffff} || order_named(order) == Order::fixed,
            "only the order 'fixed' is offered for more than 4294967295 rows");
    require(static_cast<std::int64_t>(failed.size()) == chunks.k, "`failed` needs one byte a fold");
    require(!predictions || predictions->size() == X.shape(0), "`predictions` needs one number a stored row");
    require(extra.has_value() == extra_predictions.has_value(), "`extra` and its predictions go together");
    Sink<L> sink{predictions ? predictions->data() : nullptr, failed.data(), {}, 0, nullptr, {}};
    if (extra && extra->shape(0) > 0) {
        sink.extra = rows_of(learner, *extra, std::nullopt, std::nullopt);
        sink.n_extra = static_cast<std::int64_t>(extra->shape(0));
        require(extra_predictions->stride(1) == 1 &&
                    static_cast<std::int64_t>(extra_predictions->shape(0)) == chunks.k &&
                    static_cast<std::int64_t>(extra_predictions->shape(1)) == sink.n_extra &&
                    (chunks.k == 1 || extra_predictions->stride(0) == sink.n_extra),
                "the predictions of `extra` need a row a fold and a column a row of `extra`");
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

using Report = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

inline Report report(const Counts& counts) {
    return {counts.chunk_updates, counts.row_updates, counts.copies, counts.live};
}

// Binds a way to the leaves: `way` gets the checked task and, last, the arguments that only it has.
template <class... Own, Learner L, class Way, class... Names>
void bind_way(nb::class_<L>& cls, const char* name, Way way, const Names&... own_names) {
    using X = Matrix<const typename L::Value>;
    using Y = Vector<const typename L::Target>;
    cls.def(
        name,
        [way](const L& learner, const Bytes& state, const X& x, const Y& y,
              const std::optional<Positions>& index, const std::optional<Positions>& offsets,
              const std::string& order, std::uint64_t seed, std::uint64_t repetition,
              const std::optional<Vector<double>>& predictions, const Bytes& failed,
              const std::optional<X>& extra, const std::optional<Matrix<double>>& extra_predictions,
              const std::optional<OnState>& on_state, const Own&... own) {
            std::byte* bytes = bytes_of(state, learner.state_bytes());
            Task<L> job = task(learner, x, y, index, offsets, order, seed, repetition, predictions, failed,
                               extra, extra_predictions, on_state);
            Counts counts;
            nb::gil_scoped_release nogil;
            Patience interruptible = patience();
            Feed<L> feed(learner, job.rows, job.chunks, job.order, job.stream, interruptible, counts);
            way(learner, bytes, job, feed, interruptible, counts, own...);
            return report(counts);
        },
        nb::arg("state").noconvert(), nb::arg("X").noconvert(), nb::arg("y").noconvert(), nb::kw_only(),
        nb::arg("index").noconvert().none(), nb::arg("offsets").noconvert().none(), nb::arg("order"),
        nb::arg("seed"), nb::arg("repetition"), nb::arg("predictions").noconvert().none(),
        nb::arg("failed").noconvert(), nb::arg("extra").noconvert().none(),
        nb::arg("extra_predictions").noconvert().none(), nb::arg("on_state").none(), own_names...);
}

template <Learner L>
void bind_learner(nb::class_<L>& cls) {
    using Value = typename L::Value;
    using Target = typename L::Target;
    using X = Matrix<const Value>;
    using Y = Vector<const Target>;

    cls.def_prop_ro("state_bytes", &L::state_bytes);

    cls.def(
        "update",
        [](const L& learner, const Bytes& state, const X& x, const Y& y,
           const std::optional<Positions>& index) {
            std::byte* bytes = bytes_of(state, learner.state_bytes());
            const std::int64_t n = length(x.shape(0), index);
            if (n == 0) return;
            const auto rows = rows_of(learner, x, std::optional<Y>(y), index);
            const std::int64_t offsets[] = {0, n};
            const Chunks chunks{offsets, 1};
            Counts counts;
            nb::gil_scoped_release nogil;
            Patience interruptible = patience();
            Feed<L> feed(learner, rows, chunks, Order::fixed, Stream(0), interruptible, counts);
            feed.learn(bytes, Lesson::of(0, 0), 0, 0, 0);
        },
        nb::arg("state").noconvert(), nb::arg("X").noconvert(), nb::arg("y").noconvert(),
        nb::arg("index").noconvert() = nb::none());

    cls.def(
        "predict",
        [](const L& learner, const ReadOnlyBytes& state, const X& x, const Vector<double>& out,
           const std::optional<Positions>& index) {
            const std::byte* bytes = bytes_of(state, learner.state_bytes());
            const std::int64_t n = length(x.shape(0), index);
            require(static_cast<std::int64_t>(out.size()) == n, "`out` needs one number a row");
            if (n == 0) return;
            const auto rows = rows_of(learner, x, std::optional<Y>(), index);
            nb::gil_scoped_release nogil;
            Patience interruptible = patience();
            const Value* end = rows.end();
            for (std::int64_t i = 0; i < n; ++i) {
                out.data()[i] = learner.predict(bytes, learner.row(rows.values(rows.row(i)), end));
                interruptible.spend(learner.n_features() + 1);
            }
        },
        nb::arg("state").noconvert(), nb::arg("X").noconvert(), nb::arg("out").noconvert(),
        nb::arg("index").noconvert() = nb::none());

    bind_way<std::int64_t, std::int64_t>(
        cls, "walk",
        [](const L& learner, std::byte* state, Task<L>& job, Feed<L>& feed, Patience& interruptible,
           Counts& counts, std::int64_t first, std::int64_t last) {
            require(0 <= first && first <= last && last < job.chunks.k, "no such node in the tree");
            Tree<L>(learner, feed, job.sink, interruptible, counts).walk(state, first, last);
        },
        nb::arg("first"), nb::arg("last"));

    bind_way<Positions>(
        cls, "standard",
        [](const L& learner, const std::byte* state, Task<L>& job, Feed<L>& feed, Patience& interruptible,
           Counts& counts, const Positions& folds) {
            const std::span<const std::int64_t> wanted(folds.data(), folds.size());
            for (const std::int64_t fold : wanted) require(0 <= fold && fold < job.chunks.k, "no such fold");
            treecv::standard(learner, feed, job.sink, state, wanted, interruptible, counts);
        },
        nb::arg("folds").noconvert());
}

}  // namespace treecv::bindings
