import type { JSX } from 'preact'
import type { Person } from '../../kinds/person.ts'
import { Avatar } from '../../ui/avatar.tsx'
import { Field, FormErrors, Token, type FormState } from '../../ui/form-parts.tsx'
import { Layout } from '../../ui/frame/layout.tsx'
import type { PageContext } from '../../ui/page-context.ts'

export interface SignInPageProps {
  readonly ctx: PageContext
  /** Sample people, as whom every visitor may sign in. */
  readonly samples: readonly Person[]
  readonly back: string
  readonly form: FormState
}

export function SignInPage({ ctx, samples, back, form }: SignInPageProps): JSX.Element {
  return (
    <Layout ctx={ctx} title="Sign in" section="sign-in">
      <h1 class="page-title">Sign in</h1>
      <form class="account-form" method="post" action="/sign-in" aria-label="Sign in by name">
        <FormErrors form={form} alert="You are not signed in yet" />
        <Token ctx={ctx} back={back} />
        <Field form={form} name="name" label="Name or address" maxLength={254} autoComplete="username" />
        <Field
          form={form}
          name="password"
          label="Password"
          type="password"
          autoComplete="current-password"
          required={false}
        />
        <p class="form-end">
          <button type="submit">Sign in</button>
          <span>
            New here? <a href={`/join?back=${encodeURIComponent(back)}`}>Join</a>
          </span>
        </p>
      </form>
      {samples.length === 0 ? null : (
        <form method="post" action="/sign-in" aria-labelledby="samples">
          <h2 class="section-title" id="samples">
            Or look around as one of the sample people
          </h2>
          <Token ctx={ctx} back={back} />
          <ul class="choices">
            {samples.map((person) => (
              <li key={person.id}>
                <button class="choice" type="submit" name="name" value={person.name}>
                  <Avatar label={person.full_name} hue={person.hue} />
                  <bdi>{person.full_name}</bdi>
                </button>
              </li>
            ))}
          </ul>
        </form>
      )}
    </Layout>
  )
}
