// The folds as stretches of positions; positions become rows through the index of `Rows`.
#pragma once

#include <algorithm>
#include <cstdint>

namespace treecv {

// Positions before the first fold belong to none: every model learns them.
struct Chunks {
    const std::int64_t* offsets;  // k + 1 of them; null: one row each
    std::int64_t k;

    std::int64_t begin(std::int64_t chunk) const { return offsets ? offsets[chunk] : chunk; }
    std::int64_t end(std::int64_t chunk) const { return begin(chunk + 1); }
};

// The chunks an update learns: first .. last, without the chunk `skip` (none: last + 1).
struct Lesson {
    std::int64_t first, last, skip;

    static Lesson of(std::int64_t first, std::int64_t last) { return {first, last, last + 1}; }
    static Lesson all_but(std::int64_t chunk, std::int64_t k) { return {0, k - 1, chunk}; }

    std::int64_t chunks() const { return last - first + 1 - (skip <= last ? 1 : 0); }
};

// The positions of a lesson, numbered from 0. All but a chunk is everything else, what is in no fold as well.
class Stretch {
  public:
    Stretch() : Stretch(0, 0) {}
    Stretch(const Chunks& chunks, const Lesson& lesson)
        : begin_(chunks.begin(lesson.first)), end_(chunks.end(lesson.last)), gap_begin_(end_), gap_(0) {
        if (lesson.skip > lesson.last) return;
        begin_ = 0;
        gap_begin_ = chunks.begin(lesson.skip);
        gap_ = chunks.end(lesson.skip) - gap_begin_;
    }

    // All positions 0 .. size - 1.
    explicit Stretch(std::int64_t size) : Stretch(0, size) {}

    std::int64_t size() const { return end_ - begin_ - gap_; }
    bool contiguous() const { return gap_ == 0; }

    std::int64_t operator[](std::int64_t i) const {
        const std::int64_t position = begin_ + i;
        return position < gap_begin_ ? position : position + gap_;
    }

  private:
    Stretch(std::int64_t begin, std::int64_t end) : begin_(begin), end_(end), gap_begin_(end), gap_(0) {}

    std::int64_t begin_, end_, gap_begin_, gap_;
};

}  // namespace treecv
