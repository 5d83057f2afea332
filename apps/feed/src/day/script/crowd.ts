import { createDice } from './dice.ts'

export interface CrowdOptions {
  readonly seed: number
  readonly readers: number
  readonly channels: number
  /** Channels that each reader follows. */
  readonly follows: number
}

/** Returns the channels of each reader, by their numbers. A few channels have many followers, and most have few. */
export function followsOfCrowd({
  seed,
  readers,
  channels,
  follows,
}: CrowdOptions): readonly ReadonlySet<number>[] {
  if (follows > channels) throw new RangeError(`A reader cannot follow ${follows} of ${channels} channels.`)
  const dice = createDice(seed)
  return Array.from({ length: readers }, () => {
    const followed = new Set<number>()
    while (followed.size < follows) followed.add(dice.low(channels))
    return followed
  })
}
