// Rows, the only thing kernels accept: features, targets, and an optional index saying which rows in
// which order. Nothing is copied; a row that does not fill its last block is completed on the fly.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "treecv/lanes.hpp"

namespace treecv {

// One row as a learner sees it: `full` blocks in memory and, when `ragged`, one completed block.
template <class T>
struct Row {
    const T* values;
    std::ptrdiff_t full;
    Block<T> tail;
    bool ragged;
};

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

    // The numbers a state must hold for each feature vector: whole blocks.
    std::int64_t width() const { return (full_ + (ragged_ ? 1 : 0)) * lanes<T>; }

    // `end`: one past the last value that may be read.
    Row<T> operator()(const T* values, const T* end) const {
        Row<T> row{values, full_, constant_, ragged_};
        if (rest_ == 0) return row;
        const T* rest = values + full_ * lanes<T>;
        if (end - rest >= lanes<T>) {
            // What follows belongs to the next row: it is cut off as bits, whatever it holds.
            row.tail = Block<T>::load(rest) & keep_;
        } else {
            alignas(block_bytes) T copy[lanes<T>] = {};
            std::memcpy(copy, rest, rest_ * sizeof(T));
            row.tail = Block<T>::load(copy);
        }
        row.tail += constant_;
        return row;
    }

  private:
    std::ptrdiff_t full_, rest_;
    bool ragged_;
    Block<T> constant_, keep_;
};

template <class T, class Target>
struct Rows {
    const T* X;
    std::int64_t n_stored;  // rows of X
    std::int64_t n_features;
    std::int64_t stride;        // from row to row, in values
    const Target* y;            // null where only predictions are wanted
    const std::int64_t* index;  // null: the stored order

    std::int64_t row(std::int64_t position) const { return index ? index[position] : position; }
    const T* values(std::int64_t row) const { return X + row * stride; }
    const T* end() const { return X + (n_stored - 1) * stride + n_features; }
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

// Dot product of a state vector and a row, by the summation rule.
template <class T>
T dot(const T* vector, const Row<T>& row) {
    Block<T> acc = Block<T>::all(T(0));
    for (std::ptrdiff_t b = 0; b < row.full; ++b)
        acc += Block<T>::load(vector + b * lanes<T>) * Block<T>::load(row.values + b * lanes<T>);
    if (row.ragged) acc += Block<T>::load(vector + row.full * lanes<T>) * row.tail;
    return sum(acc);
}

// vector += scale * row.
template <class T>
void add(T* vector, T scale, const Row<T>& row) {
    const Block<T> scales = Block<T>::all(scale);
    for (std::ptrdiff_t b = 0; b < row.full; ++b) {
        Block<T> block = Block<T>::load(vector + b * lanes<T>);
        block += scales * Block<T>::load(row.values + b * lanes<T>);
        block.store(vector + b * lanes<T>);
    }
    if (!row.ragged) return;
    Block<T> block = Block<T>::load(vector + row.full * lanes<T>);
    block += scales * row.tail;
    block.store(vector + row.full * lanes<T>);
}

}  // namespace treecv
