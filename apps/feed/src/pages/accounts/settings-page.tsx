import type { ComponentChildren, JSX } from 'preact'
import { PASSWORD_LENGTH } from '../../domain/accounts/passwords.ts'
import { isDue } from '../../domain/accounts/sessions.ts'
import { MAX_ADDRESS } from '../../kinds/account.ts'
import { MAX_BIO, MAX_FULL_NAME, type Person } from '../../kinds/person.ts'
import type { Session } from '../../kinds/session.ts'
import { Field, FormErrors, Token, type FormState } from '../../ui/form-parts.tsx'
import { Layout } from '../../ui/frame/layout.tsx'
import type { PageContext } from '../../ui/page-context.ts'
import { TimeAgo } from '../../ui/time-ago.tsx'

/** Parts of the page. Each has a form. */
export type Part = 'profile' | 'address' | 'password' | 'sessions' | 'delete'

/** Notices after a form, by its part, to which the browser scrolls. */
const DONE: Readonly<Record<Part, string>> = {
  profile: 'Your profile is saved.',
  address: 'Your address is saved.',
  password: 'Your password is changed, and all other browsers are signed out.',
  sessions: 'That browser is signed out.',
  delete: '',
}

export interface SettingsPageProps {
  readonly ctx: PageContext
  readonly viewer: Person
  /** Part whose form has just been saved. */
  readonly done: Part | undefined
  readonly forms: Readonly<Record<Part, FormState>>
  readonly sessions: readonly Session[]
  /** Id of the session that shows this page. */
  readonly currentSession: string | undefined
}

export function SettingsPage(props: SettingsPageProps): JSX.Element {
  const { ctx, viewer, done, forms } = props
  const shared = { ctx, forms, done }
  return (
    <Layout ctx={ctx} title="Settings">
      <h1 class="page-title">Settings</h1>
      <p>
        <a href="/settings/services">Services</a> are the sources that you publish through.
      </p>
      <PartForm {...shared} part="profile" title="Profile" button="Save the profile">
        <Field form={forms.profile} name="full_name" label="Full name" maxLength={MAX_FULL_NAME} />
        <Field form={forms.profile} name="bio" label="About you" rows={3} maxLength={MAX_BIO} optional />
      </PartForm>
      <p>
        Your name is <span class="handle">{viewer.name}</span>.
      </p>
      {viewer.sample === true ? (
        <p class="faint">
          This is a sample person without an account: every visitor may sign in as{' '}
          <bdi>{viewer.full_name}</bdi>, and there is neither an address nor a password to change.
        </p>
      ) : (
        <AccountForms {...shared} />
      )}
      <Sessions {...props} />
      {viewer.sample === true ? null : <DeleteAccount ctx={ctx} form={forms.delete} />}
    </Layout>
  )
}

/** Properties that the forms of all parts have in common. */
type PartProps = Pick<SettingsPageProps, 'ctx' | 'forms' | 'done'>

function AccountForms(shared: PartProps): JSX.Element {
  const { forms } = shared
  const { min, max } = PASSWORD_LENGTH
  return (
    <>
      <PartForm {...shared} part="address" title="Address" button="Save the address">
        <Field
          form={forms.address}
          name="address"
          label="E-mail address"
          hint="You can sign in with it. Other people do not see it, and the site sends no mail."
          type="email"
          maxLength={MAX_ADDRESS}
          optional
        />
        <CurrentPassword form={forms.address} idPrefix="address" />
      </PartForm>
      <PartForm {...shared} part="password" title="Password" button="Change the password">
        <CurrentPassword form={forms.password} idPrefix="password" />
        <Field
          form={forms.password}
          name="next"
          label="New password"
          hint={`At least ${min} characters. All other browsers are signed out.`}
          type="password"
          maxLength={max}
          autoComplete="new-password"
        />
      </PartForm>
    </>
  )
}

function PartForm({
  ctx,
  part,
  title,
  forms,
  done,
  button,
  children,
}: PartProps & {
  readonly part: Part
  readonly title: string
  readonly button: string
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <form
      class="account-form"
      id={part}
      method="post"
      action={`/settings/${part}`}
      aria-labelledby={`h-${part}`}
    >
      <h2 class="section-title" id={`h-${part}`}>
        {title}
      </h2>
      <Notice part={part} done={done} />
      <FormErrors form={forms[part]} />
      <Token ctx={ctx} />
      {children}
      <p class="form-end">
        <button type="submit">{button}</button>
      </p>
    </form>
  )
}

function Notice({
  part,
  done,
}: {
  readonly part: Part
  readonly done: Part | undefined
}): JSX.Element | null {
  if (part !== done) return null
  return (
    <p class="done" role="status">
      {DONE[part]}
    </p>
  )
}

function CurrentPassword({
  form,
  idPrefix,
}: {
  readonly form: FormState
  readonly idPrefix: string
}): JSX.Element {
  return (
    <Field
      form={form}
      name="password"
      label="Current password"
      type="password"
      autoComplete="current-password"
      idPrefix={idPrefix}
    />
  )
}

function Sessions({ ctx, sessions, currentSession, done }: SettingsPageProps): JSX.Element {
  return (
    <section id="sessions" aria-labelledby="h-sessions">
      <h2 class="section-title" id="h-sessions">
        Signed-in browsers
      </h2>
      <Notice part="sessions" done={done} />
      <ul class="rows">
        {sessions.map((session) => (
          <li key={session.id}>
            <span>
              {session.browser}
              <span class="faint">
                , signed in <TimeAgo time={session.signed_in} now={ctx.now} />
                {session.id === currentSession ? null : <LastUse ctx={ctx} session={session} />}
              </span>
            </span>
            {session.id === currentSession ? (
              <span class="faint">This browser</span>
            ) : (
              <form method="post" action={`/settings/sessions/${session.id}/end`}>
                <Token ctx={ctx} />
                <button class="quiet" type="submit">
                  Sign out<span class="unseen"> {session.browser}</span>
                </button>
              </form>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

/** A session notes its use once a day. */
function LastUse({
  ctx: { now },
  session,
}: {
  readonly ctx: PageContext
  readonly session: Session
}): JSX.Element {
  if (!isDue(session, now)) return <>, used in the last day</>
  return (
    <>
      , last used <TimeAgo time={session.seen} now={now} />
    </>
  )
}

function DeleteAccount({ ctx, form }: { readonly ctx: PageContext; readonly form: FormState }): JSX.Element {
  return (
    <section id="delete" aria-labelledby="h-delete">
      <h2 class="section-title" id="h-delete">
        Leave
      </h2>
      <details class="confirm" open={Object.keys(form.errors).length > 0}>
        <summary>Delete this account</summary>
        <form class="account-form" method="post" action="/settings/delete" aria-labelledby="h-delete">
          <FormErrors form={form} alert="Nothing was deleted" />
          <Token ctx={ctx} />
          <p>
            Your page, your address and all that you follow go for good. Your entries, comments and likes
            stay, by “a former member”; delete those that should go first. Your name becomes free.
          </p>
          <CurrentPassword form={form} idPrefix="delete" />
          <p class="form-end">
            <button class="danger" type="submit">
              Yes, delete this account
            </button>
          </p>
        </form>
      </details>
    </section>
  )
}
