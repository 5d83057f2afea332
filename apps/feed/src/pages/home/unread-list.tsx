import type { JSX } from 'preact'
import { absentName } from '../../ui/absent-name.ts'
import type { PageContext } from '../../ui/page-context.ts'
import type { HomeCards } from '../../domain/home/home-page.ts'

/** The channels with the most unread entries, and how many each has. */
export function UnreadList({
  ctx,
  unread,
  moreUnread,
}: Pick<HomeCards, 'unread' | 'moreUnread'> & { readonly ctx: PageContext }): JSX.Element | null {
  if (unread.length === 0) return null
  return (
    <nav class="unread-list" aria-labelledby="unread">
      <h2 class="side-title" id="unread">
        Unread
      </h2>
      <ul>
        {unread.map(({ channel, unread: count }) => (
          <li key={channel.id}>
            <a href={channel.href}>
              <bdi>{channel.name ?? absentName(ctx)}</bdi>
            </a>{' '}
            <span class="count">{count}</span>
          </li>
        ))}
        {moreUnread > 0 ? <li class="faint">and {moreUnread} more</li> : null}
      </ul>
    </nav>
  )
}
