import type { JSX } from 'preact'
import { Layout } from './layout.tsx'
import type { PageContext } from '../page-context.ts'

export interface ProblemPageProps {
  readonly ctx: PageContext
  readonly status: number
  readonly title: string
  readonly text: string
  /** Address to try again; undefined if trying again cannot help. */
  readonly again: string | undefined
  /** Address of the page whose form this address is for; the home page, or undefined, if there is none. */
  readonly above?: string | undefined
  /** Address of the sign-in page for a visitor; undefined if signing in cannot help. */
  readonly signIn?: string | undefined
  /** A refused form that may be sent again; undefined if there is none. */
  readonly form?: RefusedForm | undefined
}

/** A form that the site has refused. */
export interface RefusedForm {
  readonly action: string
  /** All that its sender typed; undefined if the page cannot contain it, because it has files or a password. */
  readonly fields: Readonly<Record<string, string>> | undefined
}

/** The page of an error. */
export function ProblemPage({
  ctx,
  status,
  title,
  text,
  again,
  above = '/',
  signIn,
  form,
}: ProblemPageProps): JSX.Element {
  const hasButton = again !== undefined || form?.fields !== undefined || above !== '/' || signIn !== undefined
  return (
    <Layout ctx={ctx} title={title}>
      <section class="problem">
        <p class="problem-status" aria-hidden="true">
          {status}
        </p>
        <h1>{title}</h1>
        <p>{text}</p>
        {form !== undefined && form.fields === undefined ? <p>Go back to your form to send it.</p> : null}
        <p class="ways">
          {form?.fields === undefined ? null : <SendAgain action={form.action} fields={form.fields} />}
          {again === undefined ? null : (
            <a class="button" href={again}>
              Try again
            </a>
          )}
          {above === '/' ? null : (
            <a class="button" href={above}>
              To the page of this form
            </a>
          )}
          {signIn === undefined ? null : (
            <a class="button" href={signIn}>
              Sign in
            </a>
          )}
          {again === '/' ? null : (
            <a class={hasButton ? 'button quiet' : 'button'} href="/">
              To the newest entries
            </a>
          )}
        </p>
      </section>
    </Layout>
  )
}

/** Sends a refused form again, with its token, which is still valid. */
function SendAgain({ action, fields }: Required<RefusedForm>): JSX.Element {
  return (
    <form method="post" action={action}>
      {Object.entries(fields ?? {}).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      <button type="submit">Send it again</button>
    </form>
  )
}
