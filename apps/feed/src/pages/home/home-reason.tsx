import type { JSX } from 'preact'
import { absentName } from '../../ui/absent-name.ts'
import { CARD_TAB_INDEX } from '../../ui/entry-card.tsx'
import type { PageContext } from '../../ui/page-context.ts'
import type { HomeCard } from '../../domain/home/home-page.ts'

/** Most names of a reason. */
const NAMES = 3

/** Says why an entry is on a home page, unless its head says it: the only followed channel is the person or source that is named there. */
export function HomeReason({
  ctx,
  card,
}: {
  readonly ctx: PageContext
  readonly card: HomeCard
}): JSX.Element | null {
  const { person, source, bumpedBy } = card
  const isEvident = card.via.every(({ id }) => id === person?.id || id === source?.id)
  const via = isEvident ? [] : card.via
  if (via.length === 0 && bumpedBy === undefined) return null
  const shown = via.slice(0, via.length > NAMES ? NAMES - 1 : NAMES)
  const others = via.length - shown.length
  return (
    <p class="reason faint">
      {via.length === 0 ? null : 'because you follow '}
      {shown.map(({ id, name, href }, i) => (
        <>
          {i === 0 ? '' : i === shown.length - 1 && others === 0 ? ' and ' : ', '}
          <a key={id} href={href} tabIndex={CARD_TAB_INDEX}>
            <bdi>{name ?? absentName(ctx)}</bdi>
          </a>
        </>
      ))}
      {others === 0 ? null : ` and ${others} others`}
      {bumpedBy === undefined ? null : (
        <>
          {via.length === 0 ? '' : ' · '}
          <bdi>{bumpedBy.person?.full_name ?? absentName(ctx)}</bdi> commented
        </>
      )}
    </p>
  )
}
