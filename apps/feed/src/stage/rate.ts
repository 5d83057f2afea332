/** Seconds over which a rate is the mean. */
const SECONDS = 10

/** Counts events, and tells how many there were in a second. */
export interface Rate {
  count(): void
  /** Mean of the last ten whole seconds, or of all since the start. */
  perSecond(): number
}

export function createRate(now: () => number = Date.now): Rate {
  const second = (): number => Math.floor(now() / 1000)
  const start = second()
  // One slot more than seconds, for the second that has not ended.
  const slots = Array.from({ length: SECONDS + 1 }, () => ({ second: 0, events: 0 }))
  return {
    count() {
      const current = second()
      const slot = slots[current % slots.length]!
      if (slot.second !== current) Object.assign(slot, { second: current, events: 0 })
      slot.events++
    },
    perSecond() {
      const end = second()
      const from = Math.max(start, end - SECONDS)
      const events = slots
        .filter((slot) => slot.second >= from && slot.second < end)
        .reduce((sum, slot) => sum + slot.events, 0)
      return end === from ? 0 : events / (end - from)
    },
  }
}
