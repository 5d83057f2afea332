import type { JSX } from 'preact'
import type { Person } from '../../kinds/person.ts'
import type { Source } from '../../kinds/source.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Layout } from '../../ui/frame/layout.tsx'
import { OlderLink, type Paging } from '../../ui/older-link.tsx'
import type { PageContext } from '../../ui/page-context.ts'
import { SourceTiles } from '../../ui/source-tiles.tsx'

export interface SourcesPageProps {
  readonly ctx: PageContext
  readonly sources: readonly Source[]
  readonly owners: ReadonlyMap<string, Person>
  readonly paging: Paging
}

export function SourcesPage({ ctx, sources, owners, paging }: SourcesPageProps): JSX.Element {
  return (
    <Layout ctx={ctx} title="Sources" section="sources">
      <h1 class="page-title">Sources</h1>
      <p>
        <a class="button" href="/add-source">
          Add a source
        </a>
      </p>
      {sources.length === 0 ? (
        <EmptyState ctx={ctx} paged={paging.paged} title="No sources yet">
          <p>
            Add the first one by its address, or <a href="/import">import</a> the list of feeds that your
            reader exports.
          </p>
        </EmptyState>
      ) : (
        <SourceTiles sources={sources} owners={owners} />
      )}
      <OlderLink
        path="/sources"
        paging={paging}
        label="More sources"
        before="Previous sources"
        end="End of the list."
      />
    </Layout>
  )
}
