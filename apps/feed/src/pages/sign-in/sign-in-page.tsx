import type { JSX } from 'preact'
import type { Person } from '../../kinds/person.ts'
import { Avatar } from '../../ui/avatar.tsx'
import { Field, FormErrors, Token, type FormState } from '../../ui/form-parts.tsx'
import { Layout } from '../../ui/layout.tsx'
import type { PageContext } from '../../ui/page-context.ts'

export interface SignInPageProps {
  readonly ctx: PageContext
  readonly people: readonly Person[]
  readonly back: string
  readonly form: FormState
}

/** The sign-in page. There are no passwords: this is a demonstration, and a visitor may sign in as any person. */
export function SignInPage({ ctx, people, back, form }: SignInPageProps): JSX.Element {
  return (
    <Layout ctx={ctx} title="Sign in" section="sign-in">
      <h1 class="page-title">Sign in</h1>
      <p>This is a demonstration without passwords: sign in as any of these people.</p>
      <form class="sign-in-form" method="post" action="/sign-in" aria-label="Sign in by name">
        <FormErrors form={form} />
        <Token ctx={ctx} back={back} />
        <div class="composer-row">
          <Field
            form={form}
            name="name"
            label="Name"
            maxLength={40}
            autoComplete="username"
            placeholder="such as mira"
          />
          <button type="submit">Sign in</button>
        </div>
      </form>
      <form method="post" action="/sign-in" aria-label="Sign in as one of these people">
        <Token ctx={ctx} back={back} />
        <ul class="choices">
          {people.map((person) => (
            <li key={person.id}>
              <button class="choice" type="submit" name="name" value={person.name}>
                <Avatar label={person.full_name} hue={person.hue} />
                <span>{person.full_name}</span>
              </button>
            </li>
          ))}
        </ul>
      </form>
    </Layout>
  )
}
