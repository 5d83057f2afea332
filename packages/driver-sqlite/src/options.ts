import { LooseleafError, describeKind } from '@looseleaf/core'

/** Shards that one folder or one memory driver may have. */
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

/** Throws `BAD_OPTION` for what is no options, and for an option that does not exist: mostly one that was misspelt. */
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
  const came = typeof value === 'number' ? String(value) : describeKind(value)
  return new LooseleafError('BAD_OPTION', `The option ${name} has to be ${expected}; got ${came}.`)
}
