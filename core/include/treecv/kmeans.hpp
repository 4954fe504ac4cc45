// K-means, row by row (MacQueen 1967): each row moves the nearest centre towards itself by one over the rows
// that the centre has had. Or in batches (Sculley 2010): the rows of a call are dealt to the centres as they
// are when it begins.
//
// The first rows learnt are kept until there are enough of them, and the centres are chosen among them by
// k-means++ (Arthur and Vassilvitskii 2007). An update touches few of the centres, so those are kept in a
// journal and put back, each once for every update.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "treecv/learner.hpp"
#include "treecv/seeding.hpp"

namespace treecv {

template <class T>
class KMeans {
  public:
    using Storage = Dense<T>;
    using Row = treecv::Row<T>;
    using Target = double;
    static constexpr int lanes = 1;
    static constexpr bool supervised = false, journals = true;

    struct Scratch {
        Journal* journal = nullptr;
        std::vector<std::uint8_t> kept;   // centres that this call has put into the journal
        std::vector<std::int64_t> dealt;  // of a batch: the centre of each row
        std::int64_t next = 0;            // the row of the batch that is learnt next
    };

    // `start`: the most rows that the first centres are chosen from. `seed` names the random numbers of the
    // choice.
    KMeans(std::int64_t n_features, std::int64_t n_clusters, std::int64_t start, std::int64_t batch_size,
           std::uint64_t seed)
        : n_features_(n_features),
          k_(n_clusters),
          start_(start),
          batch_size_(batch_size),
          seed_(seed),
          padding_(n_features, false) {
        if (k_ < 1) throw std::invalid_argument("there must be a cluster at least");
        if (start_ < k_) throw std::invalid_argument("the centres are chosen from at least as many rows");
    }

    std::int64_t n_features() const { return n_features_; }
    std::int64_t n_outputs() const { return 2; }  // the nearest centre, and the squared distance from it
    std::int64_t batch() const { return batch_size_; }
    std::size_t state_bytes() const {
        return header_bytes + offset(start_ + k_) + 8 * (padded(k_) + padded(start_)) + block_bytes;
    }
    std::size_t journal_bytes(const Storage&) const { return 0; }  // a few centres, however many rows
    Scratch scratch() const {
        return {nullptr, std::vector<std::uint8_t>(static_cast<std::size_t>(k_)), {}, 0};
    }
    Row row(const Storage& X, std::int64_t row) const { return padding_(X, row); }

    void begin(std::byte* state, Scratch& scratch) const {
        std::fill(scratch.kept.begin(), scratch.kept.end(), std::uint8_t{0});
        scratch.dealt.clear();
        scratch.next = 0;
        if (!scratch.journal) return;
        scratch.journal->keep(state, state, header_bytes);
        scratch.journal->keep(state, &known(state), block_bytes);
    }

    template <class At>
    void look(std::byte* state, std::int64_t n, At at, Scratch& scratch) const {
        if (batch_size_ == 0 || !known(state).started) return;
        for (std::int64_t i = 0; i < n; ++i) scratch.dealt.push_back(nearest(state, at(i)).centre);
    }

    template <int n>
    void learn(const Group<KMeans, n>& group, Scratch& scratch) const {
        static_assert(n == 1);
        std::byte* state = group.states[0];
        const Row& x = group.x[0];
        if (!known(state).started) {
            wait(state, x, group.weights[0], scratch);
        } else {
            const bool dealt = !scratch.dealt.empty();
            const std::int64_t centre =
                dealt ? scratch.dealt[static_cast<std::size_t>(scratch.next++)] : nearest(state, x).centre;
            move(state, centre, x, group.weights[0], scratch);
        }
    }

    void end(std::byte* state, std::int64_t, Scratch& scratch) const {
        const Known& own = known(state);
        if (!own.started && own.waiting >= k_) choose(state, scratch);
    }

    void predict(const std::byte* state, const Row& x, double* out, Scratch&) const {
        const Nearest found =
            known(state).started ? nearest(state, x) : Nearest{0, std::numeric_limits<T>::quiet_NaN()};
        out[0] = static_cast<double>(found.centre);
        out[1] = static_cast<double>(found.distance);
    }

  private:
    // `waiting`: rows among which the centres will be chosen.
    struct Known {
        std::int64_t started, waiting, unused[6];
    };
    static_assert(sizeof(Known) == block_bytes);

    struct Nearest {
        std::int64_t centre;
        T distance;
    };

    static std::size_t padded(std::int64_t n) { return static_cast<std::size_t>((n + 7) / 8 * 8); }
    std::size_t offset(std::int64_t rows) const {
        return static_cast<std::size_t>(rows * padding_.width()) * sizeof(T);
    }

    // Behind the header: the centres, their counts, what is known, the first rows and their weights.
    T* centre_of(std::byte* state, std::int64_t c) const { return vector<T>(state, offset(c)); }
    const T* centre_of(const std::byte* state, std::int64_t c) const { return vector<T>(state, offset(c)); }
    double* counts_of(std::byte* state) const { return vector<double>(state, offset(k_)); }
    std::size_t known_at() const { return offset(k_) + 8 * padded(k_); }
    Known& known(std::byte* state) const { return *vector<Known>(state, known_at()); }
    const Known& known(const std::byte* state) const { return *vector<Known>(state, known_at()); }
    T* first_of(std::byte* state, std::int64_t i) const {
        return vector<T>(state, known_at() + block_bytes + offset(i));
    }
    double* weights_of(std::byte* state) const {
        return vector<double>(state, known_at() + block_bytes + offset(start_));
    }

    Row stored(const T* values) const { return {values, padding_.width() / treecv::lanes<T>, {}, false}; }

    Nearest nearest(const std::byte* state, const Row& x) const {
        Nearest best{0, std::numeric_limits<T>::infinity()};
        constexpr int abreast = 4;
        std::int64_t c = 0;
        T found[abreast];
        for (; c + abreast <= k_; c += abreast) {
            const T* centres[abreast];
            unrolled<abreast>([&](auto i) { centres[i] = centre_of(state, c + i); });
            distances<abreast>(centres, x, found);
            for (int i = 0; i < abreast; ++i)
                if (found[i] < best.distance) best = {c + i, found[i]};
        }
        for (; c < k_; ++c) {
            const T distance = treecv::distance(centre_of(state, c), x);
            if (distance < best.distance) best = {c, distance};
        }
        return best;
    }

    void move(std::byte* state, std::int64_t c, const Row& x, double weight, Scratch& scratch) const {
        double& n = counts_of(state)[c];
        T* centre = centre_of(state, c);
        if (scratch.journal && !scratch.kept[static_cast<std::size_t>(c)]) {
            scratch.journal->keep(state, &n);
            scratch.journal->keep(state, centre, offset(1));
            scratch.kept[static_cast<std::size_t>(c)] = 1;
        }
        n += weight;
        if (weight > 0) towards(centre, static_cast<T>(weight / n), x);
    }

    void wait(std::byte* state, const Row& x, double weight, Scratch& scratch) const {
        Known& own = known(state);
        T* room = first_of(state, own.waiting);
        double& its = weights_of(state)[own.waiting];
        if (scratch.journal) {
            scratch.journal->keep(state, room, offset(1));
            scratch.journal->keep(state, &its);
        }
        copy(x, room);
        its = weight;
        if (++own.waiting == start_) choose(state, scratch);
    }

    // Among the first rows by k-means++; the others are learnt then.
    void choose(std::byte* state, Scratch& scratch) const {
        Known& own = known(state);
        if (scratch.journal) scratch.journal->keep(state, centre_of(state, 0), known_at());
        std::fill(scratch.kept.begin(), scratch.kept.end(), std::uint8_t{1});
        const auto squared = [&](std::int64_t i, std::int64_t j) {
            return static_cast<double>(treecv::distance(first_of(state, i), stored(first_of(state, j))));
        };
        std::vector<std::uint8_t> chosen(static_cast<std::size_t>(own.waiting));
        std::int64_t c = 0;
        for (const std::int64_t i : seeds(own.waiting, k_, Stream(seed_), squared)) {
            std::memcpy(centre_of(state, c), first_of(state, i), offset(1));
            counts_of(state)[c++] = weights_of(state)[i];
            chosen[static_cast<std::size_t>(i)] = 1;
        }
        own.started = 1;
        for (std::int64_t j = 0; j < own.waiting; ++j) {
            if (chosen[static_cast<std::size_t>(j)]) continue;
            const Row x = stored(first_of(state, j));
            move(state, nearest(state, x).centre, x, weights_of(state)[j], scratch);
        }
    }

    std::int64_t n_features_, k_, start_, batch_size_;
    std::uint64_t seed_;
    Padding<T> padding_;
};

}  // namespace treecv
