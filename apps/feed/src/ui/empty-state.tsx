import type { ComponentChildren, JSX } from 'preact'

/** Replaces an empty list. */
export function EmptyState({
  title,
  children,
}: {
  readonly title: string
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <section class="empty">
      <svg viewBox="0 0 64 64" aria-hidden="true" focusable="false">
        <rect x="14" y="6" width="42" height="52" rx="4" />
        <path d="M8 18h12M8 32h12M8 46h12M28 20h20M28 30h20M28 40h12" />
      </svg>
      <h2>{title}</h2>
      {children}
    </section>
  )
}
