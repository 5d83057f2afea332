import type { JSX } from 'preact'
import { absentName } from '../../ui/absent-name.ts'
import { CARD_TAB_INDEX } from '../../ui/entries/entry-card.tsx'
import type { PageContext } from '../../ui/page-context.ts'
import type { HomeCard } from '../../domain/home/home-page.ts'

/** Most names of a reason. */
const NAMES = 3

/**
 * Says why an entry is on a home page, unless its head says it: the only followed channel is the person or source that is named there. Names
 * the channels that brought a story.
 */
export function HomeReason({
  ctx,
  card,
}: {
  readonly ctx: PageContext
  readonly card: HomeCard
}): JSX.Element | null {
  const { person, source, sharers, bumpedBy } = card
  const isStory = sharers.length > 1
  const isEvident = card.via.every(({ id }) => id === person?.id || id === source?.id)
  const named = isStory ? sharers : isEvident ? [] : card.via
  if (named.length === 0 && bumpedBy === undefined) return null
  const shown = named.slice(0, named.length > NAMES ? NAMES - 1 : NAMES)
  const others = named.length - shown.length
  return (
    <p class="reason faint">
      {named.length === 0 || isStory ? null : 'because you follow '}
      {shown.map(({ id, name, href }, i) => (
        <>
          {i === 0 ? '' : i === shown.length - 1 && others === 0 ? ' and ' : ', '}
          <a key={id} href={href} tabIndex={CARD_TAB_INDEX}>
            <bdi>{name ?? absentName(ctx)}</bdi>
          </a>
        </>
      ))}
      {others === 0 ? null : ` and ${others} others`}
      {isStory ? ' shared this' : null}
      {bumpedBy === undefined ? null : (
        <>
          {named.length === 0 ? '' : ' · '}
          <bdi>{bumpedBy.person?.full_name ?? absentName(ctx)}</bdi> commented
        </>
      )}
    </p>
  )
}
