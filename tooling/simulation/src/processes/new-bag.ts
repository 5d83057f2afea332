import type { Bag } from '@looseleaf/core'
import type { Operation } from '../history/evidence.ts'
import { ALL_VALUES, NAMES, SEATS, type EntityValues } from '../shapes/indexes.ts'
import type { ClientOptions } from './client.ts'

/** Mostly near values, if there are any. */
export function valuesFor({ nearValues, random }: ClientOptions): EntityValues {
  return nearValues !== undefined && random.chance(0.85) ? nearValues : ALL_VALUES
}

export function newBag(options: ClientOptions, operation: Operation): Bag {
  const { random, clients } = options
  const { tags, groups, ranks } = valuesFor(options)
  const bag = {
    by: operation.number,
    open: options.nearValues === undefined ? operation.number % 4 > 0 : random.chance(0.3),
    group: random.pick([...groups, null]),
    rank: random.pick(ranks),
    tags: tags.filter(() => random.chance(0.4)),
  }
  return clients === 'keys' ? wanting(operation, { ...bag, ...newKeys(options) }) : bag
}

export const namesIn = ({ names }: ClientOptions): readonly string[] => NAMES.slice(0, names)

function newKeys(options: ClientOptions): Bag {
  const { random } = options
  return {
    names: namesIn(options).filter(() => random.chance(0.2)),
    seat: random.chance(0.2) ? null : random.below(SEATS),
  }
}

/** Records the bag before the call, so that the history knows it if the call is refused. */
export function wanting(operation: Operation, bag: Bag): Bag {
  operation.wanted = bag
  return bag
}
