import { LooseleafError } from './errors.ts'

/** Greatest version and time that can be read, in µs since 1970: a moment in June 2255. */
export const MAX_VERSION: number = Number.MAX_SAFE_INTEGER

const DAY_MICROS = 86_400_000_000

/** A clock beyond this is refused, in µs since 1970. A day below the greatest version, so that the last accepted write can be replaced. */
export const MAX_CLOCK_MICROS: number = MAX_VERSION - DAY_MICROS

/** Whether a write can have given this version to an entity. */
export function isVersion(version: number): boolean {
  return Number.isSafeInteger(version) && version > 0
}

/**
 * Throws `BODY_DAMAGED` for a stored version that no write has given, such as 0, which otherwise stands for no entity: the
 * row would be taken for nothing, and could never be replaced.
 */
export function requireVersion(version: number): void {
  if (isVersion(version)) return
  throw new LooseleafError(
    'BODY_DAMAGED',
    `Its row has version ${version}, which no write gives. Give it one with: looseleaf damaged --repair`,
  )
}

/** The error of a write by a clock that is beyond `MAX_CLOCK_MICROS`, in milliseconds since 1970. */
export function badClock(whose: string, milliseconds: number, shard?: string): LooseleafError {
  const date = new Date(milliseconds)
  const said = Number.isNaN(date.getTime()) ? `${milliseconds} ms after 1970` : date.toISOString()
  return new LooseleafError(
    'BAD_CLOCK',
    `The clock of ${whose} says ${said}, and nothing that is written after ${new Date(MAX_CLOCK_MICROS / 1_000).toISOString()} could be read. Nothing was written; set the clock right.`,
    { shard },
  )
}
