import { InvalidArgumentError } from 'commander'

/** An option's whole number from 1. */
export function parseWhole(text: string): number {
  const value = Number(text)
  if (!/^\d{1,9}$/.test(text) || value < 1)
    throw new InvalidArgumentError('It has to be a whole number, 1 or more.')
  return value
}
