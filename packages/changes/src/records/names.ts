import { badArgument } from '@looseleaf/core/internal'

/** Name of the task whose owner has fewer partitions of the shard than a fair share, and waits for more. */
export function waitingTask(consumer: string): string {
  return `consume/${consumer}/waiting`
}

const NAME = /^[a-z][a-z0-9_.-]{0,63}$/i

export function checkConsumerName(call: string, name: unknown): asserts name is string {
  if (typeof name === 'string' && NAME.test(name)) return
  throw badArgument(
    call,
    'a name of up to 64 letters, digits, dots, hyphens and underscores, beginning with a letter',
    name,
  )
}
