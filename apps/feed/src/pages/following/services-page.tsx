import type { JSX } from 'preact'
import type { Source } from '../../kinds/source.ts'
import { MAX_LINK_LENGTH } from '../../text/web-link.ts'
import { tidyLine } from '../../text/plain-text.ts'
import { Avatar, hueOf } from '../../ui/avatar.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Field, FormErrors, Token, type FormState } from '../../ui/form-parts.tsx'
import { Layout } from '../../ui/frame/layout.tsx'
import type { PageContext } from '../../ui/page-context.ts'

export interface ServicesPageProps {
  readonly ctx: PageContext
  readonly services: readonly Source[]
  readonly form: FormState
}

export function ServicesPage({ ctx, services, form }: ServicesPageProps): JSX.Element {
  return (
    <Layout ctx={ctx} title="Your services">
      <h1 class="page-title">Your services</h1>
      <p>
        You publish through these sources: people who follow you get their entries. Add the feed of your blog,
        your pictures or your bookmarks, or open the page of <a href="/sources">a known source</a>.
      </p>
      <form class="account-form" method="post" action="/settings/services" aria-label="Add a service">
        <FormErrors form={form} />
        <Token ctx={ctx} />
        <div class="composer-row">
          <Field
            form={form}
            name="address"
            label="Address of a feed"
            maxLength={MAX_LINK_LENGTH}
            placeholder="https://example.org/feed.xml"
          />
          <button type="submit">Add</button>
        </div>
      </form>
      {services.length === 0 ? (
        <EmptyState ctx={ctx} title="No services yet">
          <p>With the first one, its entries also appear on your page.</p>
        </EmptyState>
      ) : (
        <ul class="rows">
          {services.map(({ id, title }) => (
            <li key={id}>
              <Avatar label={title} hue={hueOf(title)} shape="source" />
              <a class="name" href={`/sources/${id}`}>
                <bdi>{title}</bdi>
              </a>
              <form method="post" action={`/sources/${id}/unpublish`}>
                <Token ctx={ctx} back="/settings/services" />
                <button class="quiet" type="submit">
                  Remove<span class="unseen"> {tidyLine(title, 40)}</span>
                </button>
              </form>
            </li>
          ))}
        </ul>
      )}
    </Layout>
  )
}
