import type { JSX } from 'preact'
import { endOfQuota, NEW_ENTRIES_PER_DAY } from '../../domain/sources/quota.ts'
import type { Source } from '../../kinds/source.ts'
import { counted } from '../../text/counted.ts'
import { Token } from '../../ui/form-parts.tsx'
import type { PageContext } from '../../ui/page-context.ts'
import { TimeAgo } from '../../ui/time-ago.tsx'
import { timeAhead } from './time-ahead.ts'

export interface SourceHealthProps {
  readonly ctx: PageContext
  readonly source: Source
  /** The source that is fetched in place of this one. */
  readonly sameAs: Source | undefined
}

/** Says when and how a source is fetched, and why it is not. */
export function SourceHealth({ ctx, source, sameAs }: SourceHealthProps): JSX.Element | null {
  if (sameAs !== undefined) {
    return (
      <p class="alert">
        This is the feed of{' '}
        <a href={`/sources/${sameAs.id}`}>
          <bdi>{sameAs.title}</bdi>
        </a>{' '}
        at another address. New entries appear there; older ones stay here.
      </p>
    )
  }
  if (source.stripe === undefined) return null
  return (
    <section class="health" aria-label="Fetching">
      {source.problem === undefined ? null : <Problem ctx={ctx} source={source} />}
      <p class="faint">
        <LastFetch source={source} now={ctx.now} /> <NextFetch source={source} now={ctx.now} />
        {source.per_week === undefined ? null : ` ${perWeek(source.per_week)}`}
        <Quota source={source} now={ctx.now} />
      </p>
      {ctx.viewer === undefined ? null : (
        <form method="post" action={`/sources/${source.id}/fetch`}>
          <Token ctx={ctx} />
          <button type="submit" class="quiet">
            Fetch now
          </button>
        </form>
      )}
    </section>
  )
}

function Problem({
  ctx,
  source,
}: {
  readonly ctx: PageContext
  readonly source: Source
}): JSX.Element | null {
  const { problem, failures = 0, next_check } = source
  if (problem === undefined) return null
  return (
    <p class="alert">
      {next_check === undefined ? 'This feed is not fetched any more. ' : 'This feed cannot be fetched. '}
      {problem.text}
      {failures < 2 ? null : (
        <>
          {' '}
          {counted(failures, 'attempt')} failed in a row, the first{' '}
          <TimeAgo time={problem.since} now={ctx.now} />.
        </>
      )}
    </p>
  )
}

interface FetchProps {
  readonly source: Source
  readonly now: Date
}

function LastFetch({ source: { checked, fetched, problem }, now }: FetchProps): JSX.Element {
  if (checked === undefined) return <>Not fetched yet.</>
  if (problem === undefined) {
    return (
      <>
        Last fetched <TimeAgo time={checked} now={now} />.
      </>
    )
  }
  return (
    <>
      Last attempt <TimeAgo time={checked} now={now} />
      {fetched === undefined ? (
        ', and none has succeeded yet.'
      ) : (
        <>
          , last success <TimeAgo time={fetched} now={now} />.
        </>
      )}
    </>
  )
}

function NextFetch({ source: { leased_until, next_check }, now }: FetchProps): JSX.Element | null {
  if (leased_until !== undefined && leased_until > now) return <>It is being fetched now.</>
  if (next_check === undefined) return null
  return (
    <>{next_check <= now ? 'It will be fetched in a moment.' : `Next fetch ${timeAhead(next_check, now)}.`}</>
  )
}

/** Says that the entries of a day are used up. */
function Quota({ source, now }: FetchProps): JSX.Element | null {
  const end = endOfQuota(source, now)
  if (end === undefined) return null
  const most = NEW_ENTRIES_PER_DAY.toLocaleString('en')
  return <>{` It gets at most ${most} new entries a day here. The next ones come ${timeAhead(end, now)}.`}</>
}

function perWeek(number: number): string {
  if (number < 1) return 'Less than one item a week.'
  const rounded = Math.round(number)
  return `About ${counted(rounded, 'item')} a week.`
}
