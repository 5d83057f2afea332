import type { JSX } from 'preact'
import { absentName } from '../../ui/absent-name.ts'
import type { PageContext } from '../../ui/page-context.ts'
import type { HomeCards } from '../../domain/home/home-page.ts'

/** Most listed channels. */
const MAX_CHANNELS = 2

/** The channels with unread entries, and how many each has. */
export function UnreadList({
  ctx,
  unread,
}: Pick<HomeCards, 'unread'> & { readonly ctx: PageContext }): JSX.Element | null {
  if (unread.length === 0) return null
  const more = unread.length - MAX_CHANNELS
  return (
    <nav class="unread-list" aria-labelledby="unread">
      <h2 class="side-title" id="unread">
        Unread
      </h2>
      <ul>
        {unread.slice(0, MAX_CHANNELS).map(({ channel, unread: count }) => (
          <li key={channel.id}>
            <a href={channel.href}>
              <bdi>{channel.name ?? absentName(ctx)}</bdi>
            </a>{' '}
            <span class="count">{count}</span>
          </li>
        ))}
        {more > 0 ? <li class="faint">and {more} more</li> : null}
      </ul>
    </nav>
  )
}
