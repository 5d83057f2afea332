import { LooseleafError } from '@looseleaf/core'
import { describeKind } from '@looseleaf/core/internal'
import type { Cells, OpenProperty } from '../keys/open-index.ts'

/** Returns the columns of a value, or of null if the index has rows for absent values. */
export function valueOf(index: string, property: OpenProperty, value: unknown, expected: string): Cells {
  const { name, many, absent } = property
  const expectation = many ? `${expected} (of an element)` : expected
  if (value === null && absent !== undefined) return absent
  if (value === undefined || value === null) {
    refuse(index, `needs ${expectation} for ${name}; got ${describeKind(value)}, which no index row has`)
  }
  const cells = property.toCells(value)
  if ('misfit' in cells) refuse(index, `needs ${expectation} for ${name}: ${cells.misfit}`)
  return cells
}

/** Throws `BAD_QUERY` for a `where` that an index cannot serve. */
export function refuse(index: string, problem: string): never {
  throw new LooseleafError('BAD_QUERY', `Index ${index} ${problem}.`)
}
