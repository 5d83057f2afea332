import type { JSX } from 'preact'
import type { FoundFeed } from '../../domain/sources/feed-finder.ts'
import { Field, FormErrors, Token, type FormState } from '../../ui/form-parts.tsx'
import { Layout } from '../../ui/frame/layout.tsx'
import type { PageContext } from '../../ui/page-context.ts'

export interface AddSourcePageProps {
  readonly ctx: PageContext
  readonly form: FormState
  /** Feeds of the page at the address, if there are several. */
  readonly choice: readonly FoundFeed[]
}

export function AddSourcePage({ ctx, form, choice }: AddSourcePageProps): JSX.Element {
  return (
    <Layout ctx={ctx} title="Add a source" section="sources">
      <h1 class="page-title">Add a source</h1>
      <p>
        The site fetches the feeds of its sources, as often as they have news. You follow the source that you
        add. People share sources: if it is here already, you are led to it. For the list of feeds that
        another reader exports, and for files, there is <a href="/import">Import</a>.
      </p>
      {ctx.unknownViewer ? null : ctx.viewer === undefined ? (
        <p>
          <a class="button" href="/sign-in?back=/add-source">
            Sign in to add a source
          </a>
        </p>
      ) : (
        <>
          {choice.length === 0 ? null : <Choice ctx={ctx} feeds={choice} />}
          <form class="import-form" method="post" action="/add-source" aria-label="Add a source">
            <FormErrors form={form} />
            <Token ctx={ctx} />
            <Field
              form={form}
              name="address"
              label="Address of a page or a feed"
              hint="Such as example.org or https://example.org/feed.xml"
              maxLength={2000}
            />
            <button type="submit">Find the feed</button>
          </form>
        </>
      )}
    </Layout>
  )
}

function Choice({
  ctx,
  feeds,
}: {
  readonly ctx: PageContext
  readonly feeds: readonly FoundFeed[]
}): JSX.Element {
  return (
    <section class="results" aria-labelledby="feeds">
      <h2 id="feeds">This page has several feeds. Which one do you want?</h2>
      <ul>
        {feeds.map(({ address, title }) => (
          <li key={address}>
            <form method="post" action="/add-source">
              <Token ctx={ctx} />
              <input type="hidden" name="address" value={address} />
              <button type="submit">
                Add <bdi>{title}</bdi>
              </button>{' '}
              <span class="faint" dir="ltr">
                {address}
              </span>
            </form>
          </li>
        ))}
      </ul>
    </section>
  )
}
