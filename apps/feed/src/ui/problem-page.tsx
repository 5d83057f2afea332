import type { JSX } from 'preact'
import { Layout } from './layout.tsx'
import type { PageContext } from './page-context.ts'

export interface ProblemPageProps {
  readonly ctx: PageContext
  readonly status: number
  readonly title: string
  readonly text: string
  /** Address to try again; undefined if trying again cannot help. */
  readonly again: string | undefined
}

/** The page of an error. */
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
