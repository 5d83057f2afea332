import { badArgument } from '@looseleaf/core'

/**
 * Parts of a shard that consumers lease one by one, so that so many processes can share its work. It stands in what is stored: for ever the same.
 */
export const PARTITIONS = 8

/** The task that has the consumers of a store, the same on every shard. */
export const REGISTRY_TASK = 'consumers'

/** Where a consumer stands in a partition, and who works on it. */
export function partitionTask(consumer: string, partition: number): string {
  return `consume/${consumer}/${partition}`
}

/** Who has fewer partitions of a shard than would be fair, and waits for some. */
export function waitingTask(consumer: string): string {
  return `consume/${consumer}/waiting`
}

/** The dead letters of a partition. */
export function deadTask(consumer: string, partition: number): string {
  return `consume/${consumer}/${partition}/dead`
}

export const partitionNumbers: readonly number[] = Array.from({ length: PARTITIONS }, (_, n) => n)

const NAME = /^[a-z][a-z0-9_.-]{0,63}$/i

export function checkConsumerName(call: string, name: unknown): asserts name is string {
  if (typeof name === 'string' && NAME.test(name)) return
  throw badArgument(
    call,
    'a name of up to 64 letters, digits, dots, hyphens and underscores, beginning with a letter',
    name,
  )
}
