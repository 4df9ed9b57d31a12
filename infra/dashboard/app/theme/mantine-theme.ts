import type { MantineThemeOverride } from "@mantine/core";

const dialog = { defaultProps: { lockScroll: false, transitionProps: { duration: 0 }, radius: 8 } };

/**
 * Settings of the component library. Its scroll lock would inject a style, which the content security policy refuses;
 * its colours come from `roles.css`.
 */
export const theme: MantineThemeOverride = {
  fontFamily: '"Inter Variable", system-ui, sans-serif',
  components: {
    Button: { defaultProps: { size: "xs" } },
    Checkbox: { defaultProps: { size: "xs" } },
    Modal: dialog,
    TextInput: { defaultProps: { inputWrapperOrder: ["label", "description", "input", "error"] } },
  },
};
