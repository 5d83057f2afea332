import type { JSX } from 'preact'
import type { Channel } from '../../domain/following/queries.ts'
import { Avatar, hueOf } from '../../ui/avatar.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { UnfollowForm } from '../../ui/follow-form.tsx'
import { Layout } from '../../ui/frame/layout.tsx'
import { OlderLink, type Paging } from '../../ui/older-link.tsx'
import type { PageContext } from '../../ui/page-context.ts'

export interface FollowingPageProps {
  readonly ctx: PageContext
  readonly channels: readonly Channel[]
  readonly paging: Paging
}

/** The people and sources that the viewer follows. */
export function FollowingPage({ ctx, channels, paging }: FollowingPageProps): JSX.Element {
  return (
    <Layout ctx={ctx} title="Following">
      <h1 class="page-title">Following</h1>
      {channels.length === 0 && !paging.paged ? (
        <EmptyState ctx={ctx} paged={paging.paged} title="You follow nobody yet">
          <p>
            Open the page of <a href="/people">a person</a> or <a href="/sources">a source</a>, and follow it.
            Its entries then come to your home page.
          </p>
        </EmptyState>
      ) : (
        <ul class="rows">
          {channels.map((channel) => (
            <ChannelRow key={idOf(channel)} ctx={ctx} channel={channel} />
          ))}
        </ul>
      )}
      <OlderLink
        path="/following"
        paging={paging}
        label="Followed earlier"
        before="Followed later"
        end="End of the list."
      />
    </Layout>
  )
}

function ChannelRow({ ctx, channel }: { readonly ctx: PageContext; readonly channel: Channel }): JSX.Element {
  const { name, href, hue } = shownOf(channel)
  return (
    <li>
      <Avatar label={name} hue={hue} shape={channel.type} />
      <a class="name" href={href}>
        <bdi>{name}</bdi>
      </a>
      <UnfollowForm ctx={ctx} channelId={idOf(channel)} name={name} />
    </li>
  )
}

function idOf(channel: Channel): string {
  return channel.type === 'person' ? channel.person.id : channel.source.id
}

function shownOf(channel: Channel): { readonly name: string; readonly href: string; readonly hue: number } {
  if (channel.type === 'source') {
    const { id, title } = channel.source
    return { name: title, href: `/sources/${id}`, hue: hueOf(title) }
  }
  const { name, full_name, hue } = channel.person
  return { name: full_name, href: `/people/${name}`, hue }
}
