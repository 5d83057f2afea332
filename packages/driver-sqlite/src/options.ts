import { LooseleafError } from '@looseleaf/core'
import { describeKind } from '@looseleaf/core/internal'

/** Largest number of shards of a folder or of a driver in memory. */
const MAX_SHARDS = 1_024

export function checkShardCount(count: unknown): number {
  if (typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= MAX_SHARDS) return count
  throw badOption('shards', `a whole number from 1 to ${MAX_SHARDS}`, count)
}

export function checkDeadline(deadlineMs: unknown): number {
  if (typeof deadlineMs === 'number' && Number.isFinite(deadlineMs) && deadlineMs > 0) return deadlineMs
  throw badOption('deadlineMs', 'a positive number of milliseconds', deadlineMs)
}

export function checkFolder(folder: unknown): string {
  if (typeof folder === 'string' && folder !== '' && !folder.includes('\0')) return folder
  throw badOption('folder', 'the path of a folder', folder)
}

/** Throws `BAD_OPTION` if the options are not an object, or contain an unknown name. */
export function checkNames(options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new LooseleafError(
      'BAD_OPTION',
      `sqliteShards takes its options as an object; got ${describeKind(options)}.`,
    )
  }
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) {
      throw new LooseleafError(
        'BAD_OPTION',
        `There is no option ${JSON.stringify(name.slice(0, 40))}; there are ${known.join(', ')}.`,
      )
    }
  }
}

export function badOption(name: string, expected: string, value: unknown): LooseleafError {
  const received = typeof value === 'number' ? String(value) : describeKind(value)
  return new LooseleafError('BAD_OPTION', `The option ${name} has to be ${expected}; got ${received}.`)
}
