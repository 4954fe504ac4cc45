// What the walk asks of a learner, and what it reports.
//
// A learner holds settings and nothing learnt. A state is a block of bytes that may be copied with
// memcpy: an int64 count of the rows learnt, padded to 64 bytes, then the learner's vectors. NumPy
// sees the same bytes as a record, so Python and the core share states without converting them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "treecv/rows.hpp"

namespace treecv {

inline constexpr std::size_t header_bytes = block_bytes;

inline std::int64_t& count(std::byte* state) {
    return *reinterpret_cast<std::int64_t*>(state);
}
inline const std::int64_t& count(const std::byte* state) {
    return *reinterpret_cast<const std::int64_t*>(state);
}

// The vector of a state that starts `offset` bytes behind the header.
template <class T>
T* vector(std::byte* state, std::size_t offset = 0) {
    return reinterpret_cast<T*>(state + header_bytes + offset);
}
template <class T>
const T* vector(const std::byte* state, std::size_t offset = 0) {
    return reinterpret_cast<const T*>(state + header_bytes + offset);
}

template <class L>
concept Learner =
    requires(const L learner, std::byte* state, const std::byte* read, const Row<typename L::Value> row,
             typename L::Target y, const typename L::Value* values) {
        { learner.n_features() } -> std::same_as<std::int64_t>;
        { learner.state_bytes() } -> std::same_as<std::size_t>;
        { learner.row(values, values) } -> std::same_as<Row<typename L::Value>>;
        learner.learn(state, row, y);
        { learner.predict(read, row) } -> std::same_as<double>;
    };

// Work done so far. `live` is the most states that were alive at once.
struct Counts {
    std::int64_t chunk_updates = 0, row_updates = 0, copies = 0, live = 0;
};

// Calls `check` after every few million multiplications, so that a long walk can be interrupted:
// `check` throws to end it.
class Patience {
  public:
    explicit Patience(std::function<void()> check) : check_(std::move(check)) {}

    static constexpr std::int64_t span = std::int64_t{1} << 23;

    void spend(std::int64_t work) {
        left_ -= work;
        if (left_ > 0) return;
        left_ = span;
        check_();
    }

  private:
    std::function<void()> check_;
    std::int64_t left_ = span;
};

}  // namespace treecv
