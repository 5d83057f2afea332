import { MAX_LEASE_MS } from '@looseleaf/core/internal'
import { InvalidArgumentError } from 'commander'

/** Returns a parser of an option's value, a whole number in this range. `expected` completes the sentence "It has to be …". */
export function wholeNumber(from: number, to: number, expected: string): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= from && value <= to) return value
    throw new InvalidArgumentError(`It has to be ${expected}.`)
  }
}

export const parseWhole: (text: string) => number = wholeNumber(1, 999_999_999, 'a whole number, 1 or more')

const MAX_LEASE_SECONDS = MAX_LEASE_MS / 1_000

/** Parses the value of an option, a lease in whole seconds. */
export const parseLease: (text: string) => number = wholeNumber(
  1,
  MAX_LEASE_SECONDS,
  `a whole number from 1 to ${MAX_LEASE_SECONDS}`,
)
