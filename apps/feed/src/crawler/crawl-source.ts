import { createHash } from 'node:crypto'
import { isLooseleafError, unset } from 'looseleaf'
import { deleteEntry } from '../domain/entries/entries.ts'
import { pagesOf } from '../domain/site/lists.ts'
import { SKIP } from '../domain/site/partial-reads.ts'
import { hasItems, moveSource, sourceAt } from '../domain/sources/merge-sources.ts'
import { NEW_ENTRIES_PER_DAY, quotaOf } from '../domain/sources/quota.ts'
import { feedName, withNames } from '../domain/sources/source-names.ts'
import { storeItems } from '../domain/sources/store-items.ts'
import type { FileParser } from '../feeds/parse/thread/file-parser.ts'
import type { ParsedFeed } from '../feeds/parse/parsed-feed.ts'
import type { SiteData } from '../kinds/site-data.ts'
import type { Source } from '../kinds/source.ts'
import { hostOf } from '../text/web-link.ts'
import { endLease, type LeasedSource, type Outcome, type SourceChange } from './due.ts'
import type { Fetched, Fetcher } from './fetch/fetch-feed.ts'
import { reasonOfPage, webPageOf } from './fetch/web-page.ts'
import { changedFeed, failedFetch, unchangedFeed } from './outcome.ts'
import type { IntervalBounds } from './schedule.ts'

/** Parts of a crawler that fetch and store one source. */
export interface CrawlContext {
  readonly data: SiteData
  readonly fetcher: Fetcher
  readonly parser: FileParser
  readonly now: () => Date
  /** Bounds of the time between two fetches of a source. */
  readonly bounds: IntervalBounds
}

/** Fetches in a row that a permanent redirect has to last until a source takes its address. */
const REDIRECTS_TO_MOVE = 3

/**
 * Fetches a source, stores its items, and ends its lease with the time of the next fetch. An aborted fetch makes the source due again at
 * once. A source that turns out to be another one becomes its alias. Rejects only with errors of the store; the source is then due when
 * its lease ends.
 */
export async function crawlSource(
  ctx: CrawlContext,
  source: LeasedSource,
  signal: AbortSignal,
): Promise<void> {
  const fetched = await fetchSource(ctx, source, signal)
  const outcome = signal.aborted ? { next_check: ctx.now() } : await outcomeOf(ctx, source, fetched)
  if ((await endLease(ctx.data, source, outcome)) === 'deleted') await deleteEntries(ctx.data, source.id)
}

/** Deletes the entries of a source that was deleted during its fetch. Reads entries again that change meanwhile, as by a comment. */
async function deleteEntries(data: SiteData, sourceId: string): Promise<void> {
  for (let isDone = false; !isDone;) {
    isDone = true
    for await (const { items } of pagesOf((cursor) =>
      data.entries.byPublisher.page({ publisher_id: sourceId }, { cursor }),
    )) {
      const deleted = await Promise.all(items.map((entry) => deleteEntry(data, entry)))
      if (deleted.includes(false)) isDone = false
    }
  }
}

async function fetchSource(
  { data, fetcher }: CrawlContext,
  { id, feed_link, etag, last_modified, body_hash }: Source,
  signal: AbortSignal,
): Promise<Fetched> {
  if (feed_link === undefined) return { type: 'failed', failure: { reason: 'It has no address.' } }
  const { count } = await data.follows.byChannel.count({ channel_id: id }, { exact: false, ...SKIP })
  // Without a stored body, an answer that nothing has changed would be of no use.
  const validators = body_hash === undefined ? {} : { etag, lastModified: last_modified }
  return fetcher.fetch(feed_link, { ...validators, followers: count, signal })
}

async function outcomeOf(ctx: CrawlContext, source: Source, fetched: Fetched): Promise<Outcome> {
  const now = ctx.now()
  if (fetched.type === 'failed')
    return { ...failedFetch(source, fetched.failure, now, ctx.bounds), moved: unset }
  const moved = movedChange(source, fetched.movedTo)
  if (fetched.type === 'unchanged')
    return orAlias(ctx, source, { ...unchangedFeed(source, fetched, now, ctx.bounds), ...moved })
  const bodyHash = createHash('sha256').update(fetched.bytes).digest('base64url')
  const answer = { ...fetched, bodyHash }
  const same = { ...unchangedFeed(source, answer, now, ctx.bounds), ...moved }
  if (bodyHash === source.body_hash) return orAlias(ctx, source, same)
  const failed = (reason: string): SourceChange => ({
    ...failedFetch(source, { reason, status: 200 }, now, ctx.bounds),
    moved: unset,
  })
  const page = webPageOf(fetched.bytes)
  if (page !== undefined) return failed(reasonOfPage(page))
  const parsed = await ctx.parser.parse(fetched.bytes, {
    name: source.title || hostOf(fetched.address),
    now,
    address: fetched.address,
  })
  if (parsed.type === 'opml') return failed('It is a list of feeds, and not a feed.')
  if (parsed.type === 'refused') return parsed.isEmpty ? orAlias(ctx, source, same) : failed(parsed.reason)
  const other = await sameByOwnAddress(ctx.data, source, parsed)
  const alias = await aliasOf(ctx, source, other)
  if (alias !== undefined) return alias
  const isFirst = source.fetched === undefined
  const quota = quotaOf(source, now)
  const stored = await storeItems(ctx.data, parsed, {
    sourceId: source.id,
    now,
    isNew: isFirst,
    quietOld: isFirst,
    newest: NEW_ENTRIES_PER_DAY,
    room: NEW_ENTRIES_PER_DAY - quota.used,
  })
  const change = {
    ...changedFeed(source, parsed, answer, now, ctx.bounds),
    ...moved,
    ...(!isFirst && stored.added > 0 && { quota: { ...quota, used: quota.used + stored.added } }),
  }
  // Without the digest, the next fetch tries the entries again that the store has refused, or that had no room, and compares the sources.
  const isWhole = stored.failed + stored.postponed === 0 && other === undefined
  return orAlias(ctx, source, isWhole ? change : { ...change, body_hash: unset })
}

/** Follows a permanent redirect once it has lasted. Redirects back to the source's own address end the count. */
function movedChange({ feed_link, moved }: Source, movedTo: string | undefined): SourceChange {
  if (movedTo === undefined || movedTo === feed_link) return { moved: unset }
  const times = moved?.to === movedTo ? moved.times + 1 : 1
  if (times < REDIRECTS_TO_MOVE) return { moved: { to: movedTo, times } }
  return { moved: unset, feed_link: movedTo }
}

/**
 * Returns the change, with the name of a new address, or that to an alias if the source would take the address of another one. If that is
 * unclear because a shard does not answer, the source keeps its address until the next fetch.
 */
async function orAlias(ctx: CrawlContext, source: Source, change: SourceChange): Promise<Outcome> {
  const { feed_link } = change
  if (typeof feed_link !== 'string') return change
  const other = await sourceAt(ctx.data, feed_link)
  if (other !== undefined && (other === 'unread' || other.id !== source.id)) {
    const later: SourceChange = {
      ...change,
      feed_link: source.feed_link ?? unset,
      moved: source.moved ?? unset,
    }
    return (await aliasOf(ctx, source, other)) ?? later
  }
  return ({ known_as }) => ({ ...change, known_as: withNames({ known_as, feed_link }, []) })
}

/** Returns the other source whose address a feed gives as its own, if that has the same items; `unread` if that is unclear. */
async function sameByOwnAddress(
  data: SiteData,
  source: Source,
  { feedLink, items }: ParsedFeed,
): Promise<Source | 'unread' | undefined> {
  if (feedLink === undefined || source.known_as.includes(feedName(feedLink))) return undefined
  const other = await sourceAt(data, feedLink)
  if (other === 'unread') return other
  if (other?.next_check === undefined || other.id === source.id) return undefined
  const isSame = await hasItems(data, other.id, items)
  if (isSame === 'unread') return isSame
  return isSame ? other : undefined
}

/** Makes a source an alias of another. Returns undefined if there is no other, or if a shard does not answer: the next fetch tries again. */
async function aliasOf(
  ctx: CrawlContext,
  source: Source,
  other: Source | 'unread' | undefined,
): Promise<Outcome | undefined> {
  if (other === undefined || other === 'unread') return undefined
  try {
    await moveSource(ctx.data, source, other)
  } catch (error) {
    if (isLooseleafError(error, 'SHARD_UNAVAILABLE')) return undefined
    throw error
  }
  const checked = ctx.now()
  return (stored) => {
    const known_as = stored.known_as.filter((name) => !source.known_as.includes(name))
    // Another source was merged into this one meanwhile. The next fetch moves its names and followers, too.
    if (known_as.length > 0) return { checked, known_as, next_check: checked }
    return { checked, same_as: other.id, known_as, next_check: unset, problem: unset, moved: unset }
  }
}
