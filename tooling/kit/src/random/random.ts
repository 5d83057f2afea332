// The types are in ./index.d.ts, so that packages that are built do not include these sources.
import type { Random } from './index.d.ts'

/** mulberry32. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0

  function bits(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return (t ^ (t >>> 14)) >>> 0
  }

  const next = (): number => bits() / 2 ** 32
  const below = (end: number): number => Math.floor(next() * end)
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick<T>(items: readonly T[]): T {
      if (items.length === 0) throw new RangeError('There is nothing to pick from.')
      return items[below(items.length)] as T
    },
    uuid() {
      const bytes = Buffer.alloc(16)
      for (let i = 0; i < 16; i += 4) bytes.writeUInt32BE(bits(), i)
      bytes[6] = 0x40 | ((bytes[6] as number) & 0x0f)
      bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f)
      const hex = bytes.toString('hex')
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
    },
  }
}
