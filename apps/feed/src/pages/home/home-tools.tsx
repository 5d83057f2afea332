import type { JSX } from 'preact'
import type { HomeOrder } from '../../domain/home/home-list.ts'
import { MEDIA_KINDS, type MediaKind } from '../../kinds/entry.ts'
import { Token } from '../../ui/form-parts.tsx'
import type { PageContext } from '../../ui/page-context.ts'

const ORDERS: readonly { readonly order: HomeOrder; readonly label: string }[] = [
  { order: 'newest', label: 'Newest' },
  { order: 'activity', label: 'Latest comments' },
]

const MEDIA_LABELS: Readonly<Record<MediaKind, string>> = {
  text: 'Messages',
  link: 'Links',
  image: 'Pictures',
  audio: 'Audio',
  video: 'Videos',
}

/** Forms and links that choose the order and the kind of entries, and mark all as read. */
export function HomeTools({
  ctx,
  order,
  media,
  seenUpTo,
}: {
  readonly ctx: PageContext
  readonly order: HomeOrder
  readonly media: MediaKind | undefined
  readonly seenUpTo: Date
}): JSX.Element {
  return (
    <div class="home-tools">
      <nav class="views" aria-label="Kinds of entries">
        {/* The first tab leads there, too. */}
        <a href="/" tabIndex={-1} aria-current={media === undefined ? 'page' : undefined}>
          All
        </a>
        {MEDIA_KINDS.map((kind) => (
          <a key={kind} href={`/?media=${kind}`} aria-current={kind === media ? 'page' : undefined}>
            {MEDIA_LABELS[kind]}
          </a>
        ))}
      </nav>
      <form method="post" action="/home/order" class="orders" aria-label="Order of the entries">
        <Token ctx={ctx} back={media === undefined ? '/' : `/?media=${media}`} />
        {ORDERS.map((choice) => (
          <button
            key={choice.order}
            type="submit"
            name="order"
            value={choice.order}
            aria-pressed={choice.order === order ? 'true' : 'false'}
          >
            {choice.label}
          </button>
        ))}
      </form>
      {/* The form would also mark entries that the page lacks. */}
      {ctx.unread === undefined || ctx.unread === 0 || ctx.missingShards.length > 0 ? null : (
        <form method="post" action="/home/read" class="read-all">
          <Token ctx={ctx} back="/" />
          <input type="hidden" name="until" value={seenUpTo.getTime()} />
          <button class="plain" type="submit">
            Mark all as read
          </button>
        </form>
      )}
    </div>
  )
}
