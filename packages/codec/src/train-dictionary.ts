/** Length of a counted sequence in bytes. deflate refers to at least three bytes, and gains from six on. */
const GRAM = 6
/** Longest segment in bytes. */
const SEGMENT = 32
/** A dictionary is kept for ever, so it has only sequences of at least this many samples, and of this share of them. */
const MIN_SAMPLES = 3
const MIN_SHARE = 1 / 200

interface Segment {
  readonly text: string
  readonly score: number
}

/**
 * Builds a dictionary for deflate, of at most this many bytes, from segments that many samples share. No byte of it comes from a few
 * samples alone, so it may be much shorter.
 *
 * The method is that of zstd's COVER: the samples are divided into as many stretches as there are segments to choose. Each stretch
 * contributes the segment whose sequences of six bytes occur in the most samples and were not chosen before. The most frequent
 * segments come last, where deflate refers to them by the shortest distances.
 */
export function trainDictionary(samples: readonly Uint8Array[], bytes: number): Buffer {
  const texts = samples.map((sample) => Buffer.from(sample).toString('latin1'))
  const counts = countGrams(texts)
  const perStretch = Math.max(1, Math.ceil((texts.length * SEGMENT) / bytes))
  const chosen: Segment[] = []
  let room = bytes
  // Each round chooses at most one segment per stretch, until a round finds none.
  for (let before = -1; before < chosen.length && room >= GRAM;) {
    before = chosen.length
    for (let from = 0; from < texts.length && room >= GRAM; from += perStretch) {
      const best = bestSegment(texts.slice(from, from + perStretch), counts, Math.min(SEGMENT, room))
      if (best === undefined) continue
      chosen.push(best)
      room -= best.text.length
      for (const gram of gramsOf(best.text)) counts.delete(gram)
    }
  }
  const ordered = chosen.toSorted((a, b) => a.score - b.score).map(({ text }) => text)
  return Buffer.from(ordered.join(''), 'latin1')
}

function* gramsOf(text: string): Generator<string, void, undefined> {
  for (let i = 0; i + GRAM <= text.length; i++) yield text.slice(i, i + GRAM)
}

/** Counts the texts that have each sequence of bytes, without the rare sequences. */
function countGrams(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const text of texts) {
    for (const gram of new Set(gramsOf(text))) counts.set(gram, (counts.get(gram) ?? 0) + 1)
  }
  const least = Math.max(MIN_SAMPLES, texts.length * MIN_SHARE)
  for (const [gram, count] of counts) if (count < least) counts.delete(gram)
  return counts
}

/** Returns the segment with the highest sum of counts, all of whose sequences are counted. */
function bestSegment(
  texts: readonly string[],
  counts: ReadonlyMap<string, number>,
  longest: number,
): Segment | undefined {
  let best: Segment | undefined
  for (const text of texts) {
    let start = 0
    const scores: number[] = []
    let score = 0
    for (let end = GRAM; end <= text.length; end++) {
      const count = counts.get(text.slice(end - GRAM, end))
      scores.push(count ?? 0)
      if (count === undefined) {
        start = end - GRAM + 1
        score = 0
        continue
      }
      score += count
      if (end - start > longest) score -= scores[start++] as number
      if (score > (best?.score ?? 0)) best = { text: text.slice(start, end), score }
    }
  }
  return best
}
