/** Bytes that are counted together: deflate refers to three at the least, and gains from six on. */
const GRAM = 6
/** Bytes that are chosen together, at the most. */
const SEGMENT = 32
/** A dictionary is kept for ever, so it holds only what is in so many samples, and in this share of them. */
const MIN_SAMPLES = 3
const MIN_SHARE = 1 / 200

interface Segment {
  readonly text: string
  readonly score: number
}

/**
 * A dictionary for deflate, of so many bytes at the most, as short as it may be where samples have little in common: parts that many
 * samples have, each once. The samples are cut into as many stretches as there are segments to choose, and each stretch gives
 * the segment whose sequences of six bytes occur in the most samples and were not chosen before (the method of zstd's COVER). Those that
 * occur most stand last, where references to them are shortest. No byte of it is of a few samples alone.
 */
export function trainDictionary(samples: readonly Uint8Array[], bytes: number): Buffer {
  const texts = samples.map((sample) => Buffer.from(sample).toString('latin1'))
  const counts = countGrams(texts)
  const perStretch = Math.max(1, Math.ceil((texts.length * SEGMENT) / bytes))
  const chosen: Segment[] = []
  let room = bytes
  // Rounds, as long as there is room and something in common left.
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

/** In how many texts each sequence of bytes is; without those that are in too few. */
function countGrams(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const text of texts) {
    for (const gram of new Set(gramsOf(text))) counts.set(gram, (counts.get(gram) ?? 0) + 1)
  }
  const least = Math.max(MIN_SAMPLES, texts.length * MIN_SHARE)
  for (const [gram, count] of counts) if (count < least) counts.delete(gram)
  return counts
}

/** All of its sequences are among those that are counted. */
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
