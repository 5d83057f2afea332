import type { Random } from '@looseleaf-tooling/kit/random'

/** Returns a function that draws numbers from 0 to `count` - 1 by Zipf's law: n is drawn in proportion to 1 / (n + 1). */
export function zipf(count: number): (random: Random) => number {
  const sums = new Float64Array(count)
  let sum = 0
  for (let n = 0; n < count; n++) sums[n] = sum += 1 / (n + 1)
  return (random) => {
    const target = random.next() * sum
    let [low, high] = [0, count - 1]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((sums[middle] as number) <= target) low = middle + 1
      else high = middle
    }
    return low
  }
}
