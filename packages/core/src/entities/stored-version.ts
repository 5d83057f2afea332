import { LooseleafError } from '../errors/errors.ts'

/** Greatest readable version and time, in µs since 1970: a moment in June 2255. */
export const MAX_VERSION: number = Number.MAX_SAFE_INTEGER

const DAY_MICROS = 86_400_000_000

/** Latest accepted clock, in µs since 1970. A day below `MAX_VERSION`, so that later writes can still replace the last accepted one. */
export const MAX_CLOCK_MICROS: number = MAX_VERSION - DAY_MICROS

/** Tells whether a write can have given this version to an entity. */
export function isVersion(version: number): boolean {
  return Number.isSafeInteger(version) && version > 0
}

/**
 * Throws `BODY_DAMAGED` for a stored version that no write can have given. Version 0 means that there is no entity, so a row
 * with it would count as absent, and no write could replace it.
 */
export function requireVersion(version: number): void {
  if (isVersion(version)) return
  throw new LooseleafError(
    'BODY_DAMAGED',
    `Its row has version ${version}, which no write gives. Repair it with: looseleaf damaged --repair`,
  )
}

/** Creates the error of a write whose clock is beyond `MAX_CLOCK_MICROS`. `milliseconds`: time of that clock, since 1970. */
export function badClock(owner: string, milliseconds: number, shard?: string): LooseleafError {
  const date = new Date(milliseconds)
  const time = Number.isNaN(date.getTime()) ? `${milliseconds} ms after 1970` : date.toISOString()
  return new LooseleafError(
    'BAD_CLOCK',
    `The clock of ${owner} says ${time}. Writes after ${new Date(MAX_CLOCK_MICROS / 1_000).toISOString()} could not be read. Nothing was written; correct the clock.`,
    { shard },
  )
}
