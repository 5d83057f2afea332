import type { JSX } from 'preact'
import type { Person } from '../../kinds/person.ts'
import type { Source } from '../../kinds/source.ts'
import { Avatar } from '../../ui/avatar.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Layout } from '../../ui/frame/layout.tsx'
import type { PageContext } from '../../ui/page-context.ts'
import { PersonViews } from './person-views.tsx'
import { SourceTiles } from '../../ui/source-tiles.tsx'
import { isolated } from '../../text/isolated.ts'

export interface PersonSourcesPageProps {
  readonly ctx: PageContext
  readonly person: Person
  readonly sources: readonly Source[]
}

/** All sources that a person publishes through. */
export function PersonSourcesPage({ ctx, person, sources }: PersonSourcesPageProps): JSX.Element {
  return (
    <Layout ctx={ctx} title={`Sources of ${isolated(person.full_name)}`} section="people">
      <header class="profile">
        <Avatar label={person.full_name} hue={person.hue} />
        <div>
          <h1 dir="auto">{person.full_name}</h1>
        </div>
      </header>
      <PersonViews person={person} view="sources" />
      {sources.length === 0 ? (
        <EmptyState ctx={ctx} title="No sources yet">
          <p>
            The sources that <bdi>{person.full_name}</bdi> publishes through will appear here.
          </p>
        </EmptyState>
      ) : (
        <SourceTiles sources={sources} />
      )}
    </Layout>
  )
}
