import type { Site } from '../site/site.ts'
import { counted } from '../../text/counted.ts'
import { MAX_FILE_BYTES } from '../../feeds/parse/limits.ts'
import { ImportUndone } from './import-record.ts'
import { storeFeed, storeSubscriptions, type StoredFeed, type StoredSubscriptions } from './store-feed.ts'
import { isolated } from '../../text/isolated.ts'

export { MAX_FILE_BYTES }

export interface FileToImport {
  readonly name: string
  readonly bytes: Uint8Array
  /** Address that the file was fetched from, if the person knows it. */
  readonly address?: string | undefined
}

interface Outcome {
  readonly name: string
  readonly title: string
  readonly format: string
  readonly notes: readonly string[]
}

/** Outcome of importing a file. */
export type ImportResult =
  | (Outcome & { readonly type: 'feed'; readonly stored: StoredFeed })
  | (Outcome & { readonly type: 'opml'; readonly stored: StoredSubscriptions })
  | { readonly type: 'refused'; readonly name: string; readonly reason: string }
  /** The owner has undone the import while it ran. */
  | { readonly type: 'undone'; readonly name: string; readonly title: string; readonly format: string }

export interface ImportOptions {
  /** Owner of the import. */
  readonly personId: string | undefined
  /** Lets the owner follow the sources of an OPML file. Default: false. */
  readonly follow?: boolean
  readonly now?: Date
}

/** Imports one file for a person, or without an owner. Returns `refused`, and does not throw, for a file that is not a feed. */
export async function importFile(
  { data, parser }: Pick<Site, 'data' | 'parser'>,
  file: FileToImport,
  { personId, follow = false, now = new Date() }: ImportOptions,
): Promise<ImportResult> {
  const name =
    file.name
      .replace(/^.*[\\/]/, '')
      .slice(0, 120)
      .toWellFormed() || 'feed'
  if (file.bytes.length > MAX_FILE_BYTES) {
    return { type: 'refused', name, reason: `The file is larger than ${MAX_FILE_BYTES / 1024 / 1024} MB.` }
  }
  const parsed = await parser.parse(file.bytes, { name, now, address: file.address })
  if (parsed.type === 'refused') return { type: 'refused', name, reason: parsed.reason }
  const { title, format, notes } = parsed
  const outcome = { name, title, format, notes }
  try {
    if (parsed.type === 'opml') {
      const stored = await storeSubscriptions(data, parsed, { personId, follow, now })
      return { type: 'opml', ...outcome, stored }
    }
    return { type: 'feed', ...outcome, stored: await storeFeed(data, parsed, personId, now) }
  } catch (error) {
    if (error instanceof ImportUndone) return { type: 'undone', name, title, format }
    throw error
  }
}

/** Describes a result for people. */
export function describeImport(result: ImportResult): string {
  if (result.type === 'refused') return `${isolated(result.name)}: refused. ${result.reason}`
  const title = isolated(result.title)
  if (result.type === 'undone') return `${title} (${result.format}): stopped, because the import was undone.`
  const counts =
    result.type === 'opml'
      ? [count(result.stored.added, 'new source'), count(result.stored.known, 'source', 'already known')]
      : [
          count(result.stored.added, 'new entry'),
          count(result.stored.updated, 'entry', 'updated'),
          count(result.stored.unchanged, 'entry', 'unchanged'),
          count(result.stored.deleted, 'entry', 'deleted'),
          count(result.stored.failed, 'entry', 'not stored'),
        ]
  const named = counts.filter((text) => text !== undefined)
  const summary = named.join(', ') || 'nothing new'
  const followed =
    result.type === 'opml' && result.stored.followed && named.length > 0
      ? `, ${named.length > 1 ? 'all of which' : 'which'} you follow now`
      : ''
  return [`${title} (${result.format}): ${summary}${followed}.`, ...result.notes].join(' ')
}

function count(number: number, noun: string, rest = ''): string | undefined {
  return number === 0 ? undefined : `${counted(number, noun)} ${rest}`.trim()
}
