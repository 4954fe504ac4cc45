// What the walk asks of a learner, and what it reports.
//
// A learner holds settings and nothing learnt. A state is a block of bytes that may be copied with
// memcpy: a header of 64 bytes, then the learner's vectors. NumPy sees the same bytes as a record, so Python
// and the core share states without converting them.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "treecv/rows.hpp"

namespace treecv {

struct Header {
    std::int64_t count;       // rows learnt
    std::int64_t n_features;  // for Python: the core knows them from the learner
    std::int64_t overflow;    // rows learnt, with the one at which a number first was not finite; 0: none
    double call[5];           // what a learner keeps for the length of a call; 0 between calls
};
static_assert(sizeof(Header) == block_bytes);

inline constexpr std::size_t header_bytes = sizeof(Header);

inline Header& header(std::byte* state) {
    return *reinterpret_cast<Header*>(state);
}
inline const Header& header(const std::byte* state) {
    return *reinterpret_cast<const Header*>(state);
}
inline std::int64_t& count(std::byte* state) {
    return header(state).count;
}
inline const std::int64_t& count(const std::byte* state) {
    return header(state).count;
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

// What a state held before it was changed, so that the change can be taken back.
class Journal {
    struct Entry {
        std::uint64_t at, size;
    };

  public:
    // To be called before `size` bytes at `at` are changed, for the first time or again.
    void keep(std::byte* state, const void* at, std::size_t size) {
        const Entry entry{static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - state), size};
        const std::size_t end = bytes_.size();
        bytes_.resize(end + size + sizeof entry);
        std::memcpy(bytes_.data() + end, at, size);
        std::memcpy(bytes_.data() + end + size, &entry, sizeof entry);
    }

    template <class T>
    void keep(std::byte* state, const T* number) {
        keep(state, number, sizeof *number);
    }

    // What keeping one number takes.
    template <class T>
    static constexpr std::size_t bytes = sizeof(T) + sizeof(Entry);

    std::size_t mark() const { return bytes_.size(); }

    void revert(std::byte* state, std::size_t mark) {
        std::size_t end = bytes_.size();
        while (end > mark) {
            Entry entry;
            std::memcpy(&entry, bytes_.data() + (end -= sizeof entry), sizeof entry);
            std::memcpy(state + entry.at, bytes_.data() + (end -= entry.size), entry.size);
        }
        bytes_.resize(mark);
    }

  private:
    std::vector<std::byte> bytes_;
};

// What n states that are taught in lockstep learn next.
template <class L, int n>
struct Group {
    std::byte* states[n];
    typename L::Row x[n];
    typename L::Target y[n];
    double weights[n];
};

// `lanes`: how many states it is worth teaching in lockstep; `supervised`: whether it reads y. A learner
// whose update touches little of a wide state (`journals`) keeps what it overwrites in a journal, where it is
// given one, and is taken back instead of copied. Calls of an update that mean something (`begin`, `look`,
// `end`) are optional; see `Feed`. So are `ready(state, scratch)`, which is called before predictions of a
// state, and `overflow(state)`, the row at which a number first was not finite.
template <class L>
concept Learner =
    requires(const L learner, std::byte* state, const std::byte* read, const typename L::Storage& X,
             std::int64_t row, const typename L::Row x, double* out, typename L::Scratch& scratch) {
        typename L::Target;
        { L::lanes } -> std::convertible_to<int>;
        { L::supervised } -> std::convertible_to<bool>;
        { L::journals } -> std::convertible_to<bool>;
        { learner.n_outputs() } -> std::same_as<std::int64_t>;
        { learner.state_bytes() } -> std::same_as<std::size_t>;
        { learner.row(X, row) } -> std::same_as<typename L::Row>;
        learner.predict(read, x, out, scratch);
    };

// A learner that can tell what it would predict after one more row.
template <class L>
concept Foresees = requires(const L learner, const std::byte* const (&states)[1],
                            const typename L::Row (&rows)[1], const typename L::Target (&y)[1],
                            double (&out)[1]) { learner.template foresee<1>(states, rows, y, rows, out); };

// n states that learn a stretch of rows in lockstep, row by row. A learner that keeps something in registers
// from row to row has a `Lockstep<n>` of its own. `learnt`: the rows of this call that the states have learnt
// before.
template <class L, int n>
class RowByRow {
  public:
    RowByRow(const L& learner, std::byte* const (&)[n], std::int64_t, typename L::Scratch& scratch)
        : learner_(learner), scratch_(scratch) {}

    void learn(const Group<L, n>& group) { learner_.template learn<n>(group, scratch_); }

  private:
    const L& learner_;
    typename L::Scratch& scratch_;
};

template <class L, int n>
struct Taught {
    using Type = RowByRow<L, n>;
};
template <class L, int n>
    requires requires { typename L::template Lockstep<n>; }
struct Taught<L, n> {
    using Type = typename L::template Lockstep<n>;
};
template <class L, int n>
using Lockstep = typename Taught<L, n>::Type;

// Where a learner has no use for scratch memory.
struct NoScratch {
    Journal* journal = nullptr;
};

// Work done so far. `live` is the most states that were alive at once.
struct Counts {
    std::int64_t chunk_updates = 0, row_updates = 0, copies = 0, live = 0;

    // Of parts that ran side by side.
    Counts& operator+=(const Counts& other) {
        chunk_updates += other.chunk_updates;
        row_updates += other.row_updates;
        copies += other.copies;
        live += other.live;
        return *this;
    }
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

// How many states of a learner to teach in lockstep, by what fits the registers.
template <class T>
inline constexpr int lanes_in_lockstep = TREECV_REGISTER_BYTES >= 32 ? 4 : 2;

}  // namespace treecv
