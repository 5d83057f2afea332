import { MAX_LEASE_MS } from '@looseleaf/core/internal'
import { InvalidArgumentError } from 'commander'

/** Parses the value of an option, a whole number from 1. */
export function parseWhole(text: string): number {
  const value = Number(text)
  if (!/^\d{1,9}$/.test(text) || value < 1)
    throw new InvalidArgumentError('It has to be a whole number, 1 or more.')
  return value
}

const MAX_LEASE_SECONDS = MAX_LEASE_MS / 1_000

/** Parses the value of an option, a lease in whole seconds. */
export function parseLease(text: string): number {
  const seconds = parseWhole(text)
  if (seconds > MAX_LEASE_SECONDS) {
    throw new InvalidArgumentError(`It has to be a whole number from 1 to ${MAX_LEASE_SECONDS}.`)
  }
  return seconds
}
