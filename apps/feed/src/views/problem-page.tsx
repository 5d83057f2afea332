import type { JSX } from 'preact'
import { Layout } from './layout.tsx'
import type { PageContext } from './page-context.ts'

export interface ProblemPageProps {
  readonly ctx: PageContext
  readonly status: number
  readonly title: string
  readonly text: string
  /** Where the page may be there in a while; undefined where nothing is to be expected. */
  readonly again: string | undefined
}

/** What people see instead of the page that they asked for. */
export function ProblemPage({ ctx, status, title, text, again }: ProblemPageProps): JSX.Element {
  return (
    <Layout ctx={ctx} title={title}>
      <section class="problem">
        <p class="problem-status" aria-hidden="true">
          {status}
        </p>
        <h1>{title}</h1>
        <p>{text}</p>
        <p class="ways">
          {again === undefined ? null : (
            <a class="button" href={again}>
              Try again
            </a>
          )}
          {again === '/' ? null : (
            <a class={again === undefined ? 'button' : 'button quiet'} href="/">
              To the newest entries
            </a>
          )}
        </p>
      </section>
    </Layout>
  )
}
