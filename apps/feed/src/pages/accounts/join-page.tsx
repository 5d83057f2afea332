import type { JSX } from 'preact'
import { PASSWORD_LENGTH } from '../../domain/accounts/passwords.ts'
import { MAX_ADDRESS } from '../../kinds/account.ts'
import { MAX_FULL_NAME, NAME_LENGTH } from '../../kinds/person.ts'
import { Field, FormErrors, Token, type FormState } from '../../ui/form-parts.tsx'
import { Layout } from '../../ui/frame/layout.tsx'
import type { PageContext } from '../../ui/page-context.ts'

export interface JoinPageProps {
  readonly ctx: PageContext
  readonly back: string
  readonly form: FormState
}

export function JoinPage({ ctx, back, form }: JoinPageProps): JSX.Element {
  const { min, max } = PASSWORD_LENGTH
  return (
    <Layout ctx={ctx} title="Join" section="sign-in">
      <h1 class="page-title">Join</h1>
      <form class="account-form" method="post" action="/join" aria-label="Join">
        <FormErrors form={form} />
        <Token ctx={ctx} back={back} />
        <Field
          form={form}
          name="name"
          label="Name"
          hint="Part of the address of your page: letters, digits and hyphens. It stays as it is."
          maxLength={NAME_LENGTH.max}
          autoComplete="username"
        />
        <Field form={form} name="full_name" label="Full name" maxLength={MAX_FULL_NAME} autoComplete="name" />
        <Field
          form={form}
          name="address"
          label="E-mail address"
          hint="You can sign in with it. Other people do not see it, and the site sends no mail."
          type="email"
          maxLength={MAX_ADDRESS}
          autoComplete="email"
          optional
        />
        <Field
          form={form}
          name="password"
          label="Password"
          hint={`At least ${min} characters. Several words are easy to remember and hard to guess.`}
          type="password"
          maxLength={max}
          autoComplete="new-password"
        />
        <p class="form-end">
          <button type="submit">Join</button>
          <span>
            Already here? <a href={`/sign-in?back=${encodeURIComponent(back)}`}>Sign in</a>
          </span>
        </p>
      </form>
    </Layout>
  )
}
