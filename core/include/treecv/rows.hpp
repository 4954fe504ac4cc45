// Rows, the only thing kernels accept: features, targets, weights, and an optional index saying which rows in
// which order. Nothing is copied; a dense row that does not fill its last block is completed on the fly.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "treecv/lanes.hpp"

namespace treecv {

// A table of numbers: each row side by side, the rows a fixed stride apart.
template <class T>
struct Dense {
    using Value = T;

    const T* values;
    std::int64_t n_stored;
    std::int64_t n_features;
    std::int64_t stride;  // from row to row, in values

    const T* at(std::int64_t row) const { return values + row * stride; }
    const T* end() const { return at(n_stored - 1) + n_features; }
    std::int64_t work(std::int64_t) const { return n_features + 1; }

    // The lines of a row, and the one its last whole block reaches into. Inlined by force: a call that does
    // nothing but prefetch is taken for one without effect.
    [[gnu::always_inline]] void fetch(std::int64_t row) const {
        constexpr std::int64_t most = 8 * lanes<T>;  // the hardware follows from there
        const T* value = at(row);
        const std::int64_t size = n_features < most ? n_features : most;
        for (std::int64_t j = 0; j < size; j += lanes<T>) __builtin_prefetch(value + j);
        __builtin_prefetch(value + (size / lanes<T> + 1) * lanes<T> - 1);
    }
};

// Compressed sparse rows: indices sorted and unique in each row.
template <class T>
struct Sparse {
    using Value = T;

    const T* values;
    const std::int32_t* indices;
    const std::int64_t* begins;  // n_stored + 1 of them
    std::int64_t n_stored;
    std::int64_t n_features;

    std::int64_t work(std::int64_t row) const { return begins[row + 1] - begins[row] + 1; }

    [[gnu::always_inline]] void fetch(std::int64_t row) const {
        __builtin_prefetch(values + begins[row]);
        __builtin_prefetch(indices + begins[row]);
    }
};

// One dense row as a learner sees it: `full` blocks in memory and, when `ragged`, one completed block.
template <class T>
struct Row {
    const T* values;
    std::ptrdiff_t full;
    Block<T> tail;
    bool ragged;
};

// One sparse row.
template <class T>
struct SparseRow {
    const T* values;
    const std::int32_t* indices;
    std::ptrdiff_t size;
};

template <class T>
SparseRow<T> sparse_row(const Sparse<T>& table, std::int64_t row) {
    const std::int64_t begin = table.begins[row];
    return {table.values + begin, table.indices + begin, table.begins[row + 1] - begin};
}

// What follows the features up to the next multiple of a block: zeros, or a constant 1 and zeros.
template <class T>
class Padding {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);

  public:
    Padding(std::int64_t n_features, bool constant)
        : full_(n_features / lanes<T>), rest_(n_features % lanes<T>), ragged_(rest_ > 0 || constant) {
        if (n_features < 0) throw std::invalid_argument("a row has 0 features or more");
        alignas(block_bytes) T ones[lanes<T>] = {};
        if (constant) ones[rest_] = T(1);
        constant_ = Block<T>::load(ones);
        alignas(block_bytes) T keep[lanes<T>] = {};
        std::memset(keep, 0xff, rest_ * sizeof(T));
        keep_ = Block<T>::load(keep);
    }

    // Whether a row has a block that is completed.
    bool completes() const { return ragged_; }

    // The numbers a state must hold for each feature vector: whole blocks.
    std::int64_t width() const { return (full_ + (ragged_ ? 1 : 0)) * lanes<T>; }

    [[gnu::always_inline]] Row<T> operator()(const Dense<T>& table, std::int64_t row) const {
        return (*this)(table.at(row), table.end());
    }

    // `end`: one past the last value that may be read.
    [[gnu::always_inline]] Row<T> operator()(const T* values, const T* end) const {
        return {values, full_, rest_ > 0 ? last(values, end) : constant_, ragged_};
    }

    // The block that is completed: what follows in memory belongs to the next row.
    [[gnu::always_inline]] Block<T> last(const T* values, [[maybe_unused]] const T* end) const {
        const T* rest = values + full_ * lanes<T>;
#if TREECV_MASKED_LOADS
        return Block<T>::load(rest, (1U << rest_) - 1) + constant_;
#else
        if (end - rest >= lanes<T>) [[likely]]  // it is cut off as bits, whatever it holds
            return (Block<T>::load(rest) & keep_) + constant_;
        alignas(block_bytes) T copy[lanes<T>] = {};
        std::memcpy(copy, rest, rest_ * sizeof(T));
        return Block<T>::load(copy) + constant_;
#endif
    }

  private:
    std::ptrdiff_t full_, rest_;
    bool ragged_;
    Block<T> constant_, keep_;
};

template <class Storage, class Target>
struct Rows {
    Storage X;
    const Target* y;            // null where there are none, or only predictions are wanted
    const double* weights;      // null: all 1
    const std::int64_t* index;  // null: the stored order

    std::int64_t row(std::int64_t position) const { return index ? index[position] : position; }
};

// Copies the rows named by `index`, in its order, side by side. Rows that jump about are read many
// times by a walk: one copy with its fetches far ahead costs less than a single pass through the index.
template <class T>
void gather(const T* X, std::int64_t stride, std::int64_t n_features, const std::int64_t* index,
            std::int64_t size, T* out) {
    constexpr std::int64_t ahead = 16;
    for (std::int64_t i = 0; i < size; ++i) {
        if (i + ahead < size) {
            const T* next = X + index[i + ahead] * stride;
            for (std::int64_t j = 0; j < n_features; j += lanes<T>) __builtin_prefetch(next + j);
        }
        std::memcpy(out + i * n_features, X + index[i] * stride, n_features * sizeof(T));
    }
}

// Dot products of state vectors and rows of the same width, by the summation rule.
template <int n, class T>
[[gnu::always_inline]] inline void dots(const T* const (&vectors)[n], const Row<T> (&rows)[n], T (&out)[n]) {
    Block<T> acc[n];
    unrolled<n>([&](auto i) { acc[i] = Block<T>::all(T(0)); });
    for (std::ptrdiff_t b = 0; b < rows[0].full; ++b)
        unrolled<n>([&](auto i) {
            acc[i] +=
                Block<T>::load(vectors[i] + b * lanes<T>) * Block<T>::load(rows[i].values + b * lanes<T>);
        });
    if (rows[0].ragged)
        unrolled<n>(
            [&](auto i) { acc[i] += Block<T>::load(vectors[i] + rows[i].full * lanes<T>) * rows[i].tail; });
    sums<n>(acc, out);
}

// vectors += scales * rows.
template <int n, class T>
[[gnu::always_inline]] inline void add(T* const (&vectors)[n], const T (&scales)[n],
                                       const Row<T> (&rows)[n]) {
    Block<T> factor[n];
    unrolled<n>([&](auto i) { factor[i] = Block<T>::all(scales[i]); });
    for (std::ptrdiff_t b = 0; b < rows[0].full; ++b)
        unrolled<n>([&](auto i) {
            T* at = vectors[i] + b * lanes<T>;
            (Block<T>::load(at) + factor[i] * Block<T>::load(rows[i].values + b * lanes<T>)).store(at);
        });
    if (!rows[0].ragged) return;
    unrolled<n>([&](auto i) {
        T* at = vectors[i] + rows[i].full * lanes<T>;
        (Block<T>::load(at) + factor[i] * rows[i].tail).store(at);
    });
}

// Dot products of vectors + scales * z and x, without changing the vectors.
template <int n, class T>
[[gnu::always_inline]] inline void dots_after(const T* const (&vectors)[n], const T (&scales)[n],
                                              const Row<T> (&z)[n], const Row<T> (&x)[n], T (&out)[n]) {
    Block<T> acc[n], factor[n];
    unrolled<n>([&](auto i) {
        acc[i] = Block<T>::all(T(0));
        factor[i] = Block<T>::all(scales[i]);
    });
    const auto each = [&](auto i, std::ptrdiff_t b, const Block<T>& added,
                          const Block<T>& read) __attribute__((always_inline)) {
        acc[i] += (Block<T>::load(vectors[i] + b * lanes<T>) + factor[i] * added) * read;
    };
    for (std::ptrdiff_t b = 0; b < x[0].full; ++b)
        unrolled<n>([&](auto i) {
            each(i, b, Block<T>::load(z[i].values + b * lanes<T>),
                 Block<T>::load(x[i].values + b * lanes<T>));
        });
    if (x[0].ragged) unrolled<n>([&](auto i) { each(i, x[i].full, z[i].tail, x[i].tail); });
    sums<n>(acc, out);
}

template <class T>
T dot(const T* vector, const Row<T>& row) {
    T out[1];
    dots<1, T>({vector}, {row}, out);
    return out[0];
}

template <class T>
void add(T* vector, T scale, const Row<T>& row) {
    add<1, T>({vector}, {scale}, {row});
}

// A sparse row adds up in the lanes that its features have in a dense one: zeros would add nothing, so the
// bits are the same.
template <class T>
T dot(const T* vector, const SparseRow<T>& row) {
    alignas(block_bytes) T acc[lanes<T>] = {};
    for (std::ptrdiff_t j = 0; j < row.size; ++j)
        acc[row.indices[j] % lanes<T>] += vector[row.indices[j]] * row.values[j];
    return sum(Block<T>::load(acc));
}

// Whether all numbers of whole blocks are finite.
template <class T>
[[gnu::always_inline]] inline bool finite(const T* vector, std::int64_t width) {
    Block<T> beyond = Block<T>::all(T(0));
    for (std::int64_t j = 0; j < width; j += lanes<T>) {
        const Block<T> numbers = Block<T>::load(vector + j);
        beyond += numbers - numbers;  // NaN, of infinity and of NaN
    }
    return sum(beyond) == 0;
}

// Whether all numbers that this changed are finite: no later row may read them again.
template <class T>
bool add(T* vector, T scale, const SparseRow<T>& row) {
    T beyond = 0;
    for (std::ptrdiff_t j = 0; j < row.size; ++j) {
        T& at = vector[row.indices[j]];
        at += scale * row.values[j];
        beyond += at - at;  // NaN, of infinity and of NaN
    }
    return beyond == 0;
}

// The squared distances of points from a row, by the summation rule.
template <int n, class T>
[[gnu::always_inline]] inline void distances(const T* const (&points)[n], const Row<T>& row, T (&out)[n]) {
    Block<T> acc[n];
    unrolled<n>([&](auto i) { acc[i] = Block<T>::all(T(0)); });
    for (std::ptrdiff_t b = 0; b < row.full; ++b) {
        const Block<T> values = Block<T>::load(row.values + b * lanes<T>);
        unrolled<n>([&](auto i) {
            const Block<T> difference = values - Block<T>::load(points[i] + b * lanes<T>);
            acc[i] += difference * difference;
        });
    }
    if (row.ragged)
        unrolled<n>([&](auto i) {
            const Block<T> difference = row.tail - Block<T>::load(points[i] + row.full * lanes<T>);
            acc[i] += difference * difference;
        });
    sums<n>(acc, out);
}

template <class T>
T distance(const T* point, const Row<T>& row) {
    T out[1];
    distances<1, T>({point}, row, out);
    return out[0];
}

// Moves a point towards a row by a share of the way.
template <class T>
void towards(T* point, T share, const Row<T>& row) {
    const Block<T> factor = Block<T>::all(share);
    const auto move = [&](std::ptrdiff_t b, const Block<T>& values) {
        T* at = point + b * lanes<T>;
        const Block<T> from = Block<T>::load(at);
        (from + factor * (values - from)).store(at);
    };
    for (std::ptrdiff_t b = 0; b < row.full; ++b) move(b, Block<T>::load(row.values + b * lanes<T>));
    if (row.ragged) move(row.full, row.tail);
}

// A row in double precision, and zeros up to a whole block.
template <class T>
void widen(const Row<T>& row, double* to) {
    for (std::ptrdiff_t j = 0; j < row.full * lanes<T>; ++j) to[j] = static_cast<double>(row.values[j]);
    if (!row.ragged) return;
    T tail[lanes<T>];
    row.tail.store(tail);
    for (std::ptrdiff_t j = 0; j < lanes<T>; ++j) to[row.full * lanes<T> + j] = static_cast<double>(tail[j]);
}

// A row, and zeros up to a whole block; -0 becomes 0, as it does in a block that is completed.
template <class T>
void copy(const Row<T>& row, T* to) {
    const Block<T> zero = Block<T>::all(T(0));
    for (std::ptrdiff_t b = 0; b < row.full; ++b)
        (Block<T>::load(row.values + b * lanes<T>) + zero).store(to + b * lanes<T>);
    if (row.ragged) row.tail.store(to + row.full * lanes<T>);
}

// The squared length of a row, by the summation rule.
template <class T>
T square(const Row<T>& row) {
    Block<T> acc = Block<T>::all(T(0));
    for (std::ptrdiff_t b = 0; b < row.full; ++b) {
        const Block<T> values = Block<T>::load(row.values + b * lanes<T>);
        acc += values * values;
    }
    if (row.ragged) acc += row.tail * row.tail;
    return sum(acc);
}
template <class T>
T square(const SparseRow<T>& row) {
    alignas(block_bytes) T acc[lanes<T>] = {};
    for (std::ptrdiff_t j = 0; j < row.size; ++j)
        acc[row.indices[j] % lanes<T>] += row.values[j] * row.values[j];
    return sum(Block<T>::load(acc));
}

}  // namespace treecv
