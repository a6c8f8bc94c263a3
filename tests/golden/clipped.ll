; a branch on a value: two regions, of which one runs; on a device both, and a choice

; == mul_sum
; loop [p0] kept 0 vector 0
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [0]
;   %0 f32 = load a0
;   %1 f32 = op Mul %0 %0
;   %2 f32 = reduce sum %1
;   %3 f32 = store a1 %2
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %block.end, %work
  %task1 = phi i64 [ %2, %work ], [ %100, %block.end ]
  %11 = icmp slt i64 %task1, %3
  br i1 %11, label %task, label %task.end

task:                                             ; preds = %task.head
  br label %block.head

block.head:                                       ; preds = %tail.end, %task
  %block2 = phi i64 [ 0, %task ], [ %96, %tail.end ]
  %12 = phi float [ 0.000000e+00, %task ], [ %89, %tail.end ]
  %13 = phi float [ 0.000000e+00, %task ], [ %95, %tail.end ]
  %14 = icmp slt i64 %block2, %6
  br i1 %14, label %block, label %block.end

block:                                            ; preds = %block.head
  %15 = add i64 %block2, 8192
  %16 = call i64 @llvm.smin.i64(i64 %15, i64 %6)
  %17 = sub i64 %16, %block2
  %18 = and i64 %17, -32
  %19 = add i64 %block2, %18
  br label %vector.head

vector.head:                                      ; preds = %vector, %block
  %vector3 = phi i64 [ %block2, %block ], [ %52, %vector ]
  %20 = phi <8 x float> [ zeroinitializer, %block ], [ %24, %vector ]
  %21 = phi <8 x float> [ zeroinitializer, %block ], [ %25, %vector ]
  %22 = phi <8 x float> [ zeroinitializer, %block ], [ %26, %vector ]
  %23 = phi <8 x float> [ zeroinitializer, %block ], [ %27, %vector ]
  %24 = phi <8 x float> [ zeroinitializer, %block ], [ %48, %vector ]
  %25 = phi <8 x float> [ zeroinitializer, %block ], [ %49, %vector ]
  %26 = phi <8 x float> [ zeroinitializer, %block ], [ %50, %vector ]
  %27 = phi <8 x float> [ zeroinitializer, %block ], [ %51, %vector ]
  %28 = icmp slt i64 %vector3, %19
  br i1 %28, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %29 = mul i64 %vector3, 1
  %30 = getelementptr float, ptr %8, i64 %29
  %31 = load <8 x float>, ptr %30, align 4
  %32 = mul i64 %vector3, 1
  %33 = getelementptr float, ptr %8, i64 %32
  %34 = getelementptr float, ptr %33, i64 8
  %35 = load <8 x float>, ptr %34, align 4
  %36 = mul i64 %vector3, 1
  %37 = getelementptr float, ptr %8, i64 %36
  %38 = getelementptr float, ptr %37, i64 16
  %39 = load <8 x float>, ptr %38, align 4
  %40 = mul i64 %vector3, 1
  %41 = getelementptr float, ptr %8, i64 %40
  %42 = getelementptr float, ptr %41, i64 24
  %43 = load <8 x float>, ptr %42, align 4
  %44 = fmul <8 x float> %31, %31
  %45 = fmul <8 x float> %35, %35
  %46 = fmul <8 x float> %39, %39
  %47 = fmul <8 x float> %43, %43
  %48 = fadd <8 x float> %44, %20
  %49 = fadd <8 x float> %45, %21
  %50 = fadd <8 x float> %46, %22
  %51 = fadd <8 x float> %47, %23
  %52 = add i64 %vector3, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail4 = phi i64 [ %19, %vector.end ], [ %72, %tail ]
  %53 = phi <8 x float> [ %20, %vector.end ], [ %54, %tail ]
  %54 = phi <8 x float> [ %21, %vector.end ], [ %55, %tail ]
  %55 = phi <8 x float> [ %22, %vector.end ], [ %56, %tail ]
  %56 = phi <8 x float> [ %23, %vector.end ], [ %57, %tail ]
  %57 = phi <8 x float> [ %24, %vector.end ], [ %58, %tail ]
  %58 = phi <8 x float> [ %25, %vector.end ], [ %59, %tail ]
  %59 = phi <8 x float> [ %26, %vector.end ], [ %60, %tail ]
  %60 = phi <8 x float> [ %27, %vector.end ], [ %71, %tail ]
  %61 = icmp slt i64 %tail4, %16
  br i1 %61, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %62 = sub i64 %16, %tail4
  %63 = call i64 @llvm.umin.i64(i64 %62, i64 8)
  %64 = trunc i64 %63 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %64, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %65 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %66 = mul i64 %tail4, 1
  %67 = getelementptr float, ptr %8, i64 %66
  %68 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %67, i32 4, <8 x i1> %65, <8 x float> zeroinitializer)
  %69 = fmul <8 x float> %68, %68
  %70 = fadd <8 x float> %69, %53
  %71 = select <8 x i1> %65, <8 x float> %70, <8 x float> %53
  %72 = add i64 %tail4, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %73 = fadd <8 x float> %53, %57
  %74 = fadd <8 x float> %54, %58
  %75 = fadd <8 x float> %55, %59
  %76 = fadd <8 x float> %56, %60
  %77 = fadd <8 x float> %73, %75
  %78 = fadd <8 x float> %74, %76
  %79 = fadd <8 x float> %77, %78
  %80 = shufflevector <8 x float> %79, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %81 = shufflevector <8 x float> %79, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %82 = fadd <4 x float> %81, %80
  %83 = shufflevector <4 x float> %82, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %84 = shufflevector <4 x float> %82, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %85 = fadd <2 x float> %84, %83
  %86 = extractelement <2 x float> %85, i64 1
  %87 = extractelement <2 x float> %85, i64 0
  %88 = fadd float %87, %86
  %89 = fadd float %12, %88
  %90 = fsub float %89, %12
  %91 = fsub float %88, %90
  %92 = fsub float %89, %90
  %93 = fsub float %12, %92
  %94 = fadd float %93, %91
  %95 = fadd float %13, %94
  %96 = add i64 %block2, 8192
  br label %block.head

block.end:                                        ; preds = %block.head
  %97 = fadd float %12, %13
  %98 = fcmp uno float %13, %13
  %99 = select i1 %98, float %12, float %97
  store float %99, ptr %10, align 4
  %100 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }

; == sqrt_gt
; loop [p0] kept 1 vector 0
;   buffer b0 f32
;   buffer b1 f32
;   buffer b2 bool written
;   buffer b3 f32 written
;   access a0 b0 + 0 [0]
;   access a1 b1 + 0 [0]
;   access a2 b2 + 0 [0]
;   access a3 b3 + 0 [0]
;   %0 f32 = load a0
;   %1 f32 = op Sqrt %0
;   %2 f32 = load a1
;   %3 bool = op Lt %2 %1
;   %4 bool = store a2 %3
;   %5 f32 = store a3 %1
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 2
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr ptr, ptr %0, i64 3
  %14 = load ptr, ptr %13, align 8
  %15 = mul i64 1, %6
  %16 = add i64 %6, 4095
  %17 = lshr i64 %16, 12
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %41, %tail.end ]
  %18 = phi i64 [ %2, %work ], [ %40, %tail.end ]
  %19 = icmp slt i64 %task1, %3
  br i1 %19, label %task, label %task.end

task:                                             ; preds = %task.head
  %20 = load float, ptr %8, align 4
  %21 = call float @llvm.sqrt.f32(float %20)
  %22 = load float, ptr %10, align 4
  %23 = fcmp olt float %22, %21
  %24 = mul i64 %18, 4096
  %25 = add i64 %24, 4096
  %26 = call i64 @llvm.smin.i64(i64 %25, i64 %6)
  %27 = sub i64 %26, %24
  %28 = and i64 %27, -32
  %29 = add i64 %24, %28
  br label %vector.head

vector.head:                                      ; preds = %vector, %task
  %vector2 = phi i64 [ %24, %task ], [ %32, %vector ]
  %30 = icmp slt i64 %vector2, %29
  br i1 %30, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %31 = zext i1 %23 to i8
  store i8 %31, ptr %12, align 1
  store float %21, ptr %14, align 4
  %32 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail3 = phi i64 [ %29, %vector.end ], [ %39, %tail ]
  %33 = icmp slt i64 %tail3, %26
  br i1 %33, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %34 = sub i64 %26, %tail3
  %35 = call i64 @llvm.umin.i64(i64 %34, i64 8)
  %36 = trunc i64 %35 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %36, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %37 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %38 = zext i1 %23 to i8
  store i8 %38, ptr %12, align 1
  store float %21, ptr %14, align 4
  %39 = add i64 %tail3, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %40 = add i64 %18, 1
  %41 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.sqrt.f32(float) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

; == div_mul
; loop [p0] kept 1 vector 0
;   buffer b0 f32
;   buffer b1 f32
;   buffer b2 f32
;   buffer b3 f32 written
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [0]
;   access a2 b2 + 0 [0]
;   access a3 b3 + 0 [1]
;   %0 f32 = load a0
;   %1 f32 = load a1
;   %2 f32 = load a2
;   %3 f32 = op Div %1 %2
;   %4 f32 = op Mul %0 %3
;   %5 f32 = store a3 %4
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 2
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr ptr, ptr %0, i64 3
  %14 = load ptr, ptr %13, align 8
  %15 = mul i64 1, %6
  %16 = icmp sge i64 %15, 8388608
  %17 = ptrtoint ptr %14 to i64
  %18 = or i64 0, %17
  %19 = and i64 %18, 63
  %20 = icmp eq i64 %19, 0
  %21 = and i1 %16, %20
  %22 = add i64 %6, 4095
  %23 = lshr i64 %22, 12
  br label %task.head

done:                                             ; preds = %endif27, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %112, %tail.end ]
  %24 = phi i64 [ %2, %work ], [ %111, %tail.end ]
  %25 = icmp slt i64 %task1, %3
  br i1 %25, label %task, label %task.end

task:                                             ; preds = %task.head
  %26 = load float, ptr %10, align 4
  %27 = load float, ptr %12, align 4
  %28 = fdiv float %26, %27
  %29 = mul i64 %24, 4096
  %30 = add i64 %29, 4096
  %31 = call i64 @llvm.smin.i64(i64 %30, i64 %6)
  %32 = sub i64 %31, %29
  %33 = and i64 %32, -32
  %34 = add i64 %29, %33
  br i1 %21, label %then, label %else

then:                                             ; preds = %task
  br label %vector.head

vector.head:                                      ; preds = %vector, %then
  %vector2 = phi i64 [ %29, %then ], [ %66, %vector ]
  %35 = icmp slt i64 %vector2, %34
  br i1 %35, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %36 = mul i64 %vector2, 1
  %37 = getelementptr float, ptr %8, i64 %36
  %38 = load <8 x float>, ptr %37, align 4
  %39 = mul i64 %vector2, 1
  %40 = getelementptr float, ptr %8, i64 %39
  %41 = getelementptr float, ptr %40, i64 8
  %42 = load <8 x float>, ptr %41, align 4
  %43 = mul i64 %vector2, 1
  %44 = getelementptr float, ptr %8, i64 %43
  %45 = getelementptr float, ptr %44, i64 16
  %46 = load <8 x float>, ptr %45, align 4
  %47 = mul i64 %vector2, 1
  %48 = getelementptr float, ptr %8, i64 %47
  %49 = getelementptr float, ptr %48, i64 24
  %50 = load <8 x float>, ptr %49, align 4
  %.splatinsert = insertelement <8 x float> poison, float %28, i64 0
  %.splat = shufflevector <8 x float> %.splatinsert, <8 x float> poison, <8 x i32> zeroinitializer
  %51 = fmul <8 x float> %38, %.splat
  %.splatinsert3 = insertelement <8 x float> poison, float %28, i64 0
  %.splat4 = shufflevector <8 x float> %.splatinsert3, <8 x float> poison, <8 x i32> zeroinitializer
  %52 = fmul <8 x float> %42, %.splat4
  %.splatinsert5 = insertelement <8 x float> poison, float %28, i64 0
  %.splat6 = shufflevector <8 x float> %.splatinsert5, <8 x float> poison, <8 x i32> zeroinitializer
  %53 = fmul <8 x float> %46, %.splat6
  %.splatinsert7 = insertelement <8 x float> poison, float %28, i64 0
  %.splat8 = shufflevector <8 x float> %.splatinsert7, <8 x float> poison, <8 x i32> zeroinitializer
  %54 = fmul <8 x float> %50, %.splat8
  %55 = mul i64 %vector2, 1
  %56 = getelementptr float, ptr %14, i64 %55
  store <8 x float> %51, ptr %56, align 32, !nontemporal !0
  %57 = mul i64 %vector2, 1
  %58 = getelementptr float, ptr %14, i64 %57
  %59 = getelementptr float, ptr %58, i64 8
  store <8 x float> %52, ptr %59, align 32, !nontemporal !0
  %60 = mul i64 %vector2, 1
  %61 = getelementptr float, ptr %14, i64 %60
  %62 = getelementptr float, ptr %61, i64 16
  store <8 x float> %53, ptr %62, align 32, !nontemporal !0
  %63 = mul i64 %vector2, 1
  %64 = getelementptr float, ptr %14, i64 %63
  %65 = getelementptr float, ptr %64, i64 24
  store <8 x float> %54, ptr %65, align 32, !nontemporal !0
  %66 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %endif

else:                                             ; preds = %task
  br label %vector.head9

vector.head9:                                     ; preds = %vector10, %else
  %vector11 = phi i64 [ %29, %else ], [ %98, %vector10 ]
  %67 = icmp slt i64 %vector11, %34
  br i1 %67, label %vector10, label %vector.end20

vector10:                                         ; preds = %vector.head9
  %68 = mul i64 %vector11, 1
  %69 = getelementptr float, ptr %8, i64 %68
  %70 = load <8 x float>, ptr %69, align 4
  %71 = mul i64 %vector11, 1
  %72 = getelementptr float, ptr %8, i64 %71
  %73 = getelementptr float, ptr %72, i64 8
  %74 = load <8 x float>, ptr %73, align 4
  %75 = mul i64 %vector11, 1
  %76 = getelementptr float, ptr %8, i64 %75
  %77 = getelementptr float, ptr %76, i64 16
  %78 = load <8 x float>, ptr %77, align 4
  %79 = mul i64 %vector11, 1
  %80 = getelementptr float, ptr %8, i64 %79
  %81 = getelementptr float, ptr %80, i64 24
  %82 = load <8 x float>, ptr %81, align 4
  %.splatinsert12 = insertelement <8 x float> poison, float %28, i64 0
  %.splat13 = shufflevector <8 x float> %.splatinsert12, <8 x float> poison, <8 x i32> zeroinitializer
  %83 = fmul <8 x float> %70, %.splat13
  %.splatinsert14 = insertelement <8 x float> poison, float %28, i64 0
  %.splat15 = shufflevector <8 x float> %.splatinsert14, <8 x float> poison, <8 x i32> zeroinitializer
  %84 = fmul <8 x float> %74, %.splat15
  %.splatinsert16 = insertelement <8 x float> poison, float %28, i64 0
  %.splat17 = shufflevector <8 x float> %.splatinsert16, <8 x float> poison, <8 x i32> zeroinitializer
  %85 = fmul <8 x float> %78, %.splat17
  %.splatinsert18 = insertelement <8 x float> poison, float %28, i64 0
  %.splat19 = shufflevector <8 x float> %.splatinsert18, <8 x float> poison, <8 x i32> zeroinitializer
  %86 = fmul <8 x float> %82, %.splat19
  %87 = mul i64 %vector11, 1
  %88 = getelementptr float, ptr %14, i64 %87
  store <8 x float> %83, ptr %88, align 4
  %89 = mul i64 %vector11, 1
  %90 = getelementptr float, ptr %14, i64 %89
  %91 = getelementptr float, ptr %90, i64 8
  store <8 x float> %84, ptr %91, align 4
  %92 = mul i64 %vector11, 1
  %93 = getelementptr float, ptr %14, i64 %92
  %94 = getelementptr float, ptr %93, i64 16
  store <8 x float> %85, ptr %94, align 4
  %95 = mul i64 %vector11, 1
  %96 = getelementptr float, ptr %14, i64 %95
  %97 = getelementptr float, ptr %96, i64 24
  store <8 x float> %86, ptr %97, align 4
  %98 = add i64 %vector11, 32
  br label %vector.head9

vector.end20:                                     ; preds = %vector.head9
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end20
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail21 = phi i64 [ %34, %endif ], [ %110, %tail ]
  %99 = icmp slt i64 %tail21, %31
  br i1 %99, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %100 = sub i64 %31, %tail21
  %101 = call i64 @llvm.umin.i64(i64 %100, i64 8)
  %102 = trunc i64 %101 to i32
  %.splatinsert22 = insertelement <8 x i32> poison, i32 %102, i64 0
  %.splat23 = shufflevector <8 x i32> %.splatinsert22, <8 x i32> poison, <8 x i32> zeroinitializer
  %103 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat23
  %104 = mul i64 %tail21, 1
  %105 = getelementptr float, ptr %8, i64 %104
  %106 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %105, i32 4, <8 x i1> %103, <8 x float> zeroinitializer)
  %.splatinsert24 = insertelement <8 x float> poison, float %28, i64 0
  %.splat25 = shufflevector <8 x float> %.splatinsert24, <8 x float> poison, <8 x i32> zeroinitializer
  %107 = fmul <8 x float> %106, %.splat25
  %108 = mul i64 %tail21, 1
  %109 = getelementptr float, ptr %14, i64 %108
  call void @llvm.masked.store.v8f32.p0(<8 x float> %107, ptr %109, i32 4, <8 x i1> %103)
  %110 = add i64 %tail21, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %111 = add i64 %24, 1
  %112 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %21, label %then26, label %endif27

then26:                                           ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif27

endif27:                                          ; preds = %task.end, %then26
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

; Function Attrs: nounwind
declare void @llvm.x86.sse.sfence() #0

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

!0 = !{i32 1}

; == copy
; loop [p0] kept 1 vector 0
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [1]
;   %0 f32 = load a0
;   %1 f32 = store a1 %0
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  %11 = mul i64 1, %6
  %12 = icmp sge i64 %11, 8388608
  %13 = ptrtoint ptr %10 to i64
  %14 = or i64 0, %13
  %15 = and i64 %14, 63
  %16 = icmp eq i64 %15, 0
  %17 = and i1 %12, %16
  %18 = add i64 %6, 4095
  %19 = lshr i64 %18, 12
  br label %task.head

done:                                             ; preds = %endif9, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %96, %tail.end ]
  %20 = phi i64 [ %2, %work ], [ %95, %tail.end ]
  %21 = icmp slt i64 %task1, %3
  br i1 %21, label %task, label %task.end

task:                                             ; preds = %task.head
  %22 = mul i64 %20, 4096
  %23 = add i64 %22, 4096
  %24 = call i64 @llvm.smin.i64(i64 %23, i64 %6)
  %25 = sub i64 %24, %22
  %26 = and i64 %25, -32
  %27 = add i64 %22, %26
  br i1 %17, label %then, label %else

then:                                             ; preds = %task
  br label %vector.head

vector.head:                                      ; preds = %vector, %then
  %vector2 = phi i64 [ %22, %then ], [ %55, %vector ]
  %28 = icmp slt i64 %vector2, %27
  br i1 %28, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %29 = mul i64 %vector2, 1
  %30 = getelementptr float, ptr %8, i64 %29
  %31 = load <8 x float>, ptr %30, align 4
  %32 = mul i64 %vector2, 1
  %33 = getelementptr float, ptr %8, i64 %32
  %34 = getelementptr float, ptr %33, i64 8
  %35 = load <8 x float>, ptr %34, align 4
  %36 = mul i64 %vector2, 1
  %37 = getelementptr float, ptr %8, i64 %36
  %38 = getelementptr float, ptr %37, i64 16
  %39 = load <8 x float>, ptr %38, align 4
  %40 = mul i64 %vector2, 1
  %41 = getelementptr float, ptr %8, i64 %40
  %42 = getelementptr float, ptr %41, i64 24
  %43 = load <8 x float>, ptr %42, align 4
  %44 = mul i64 %vector2, 1
  %45 = getelementptr float, ptr %10, i64 %44
  store <8 x float> %31, ptr %45, align 32, !nontemporal !0
  %46 = mul i64 %vector2, 1
  %47 = getelementptr float, ptr %10, i64 %46
  %48 = getelementptr float, ptr %47, i64 8
  store <8 x float> %35, ptr %48, align 32, !nontemporal !0
  %49 = mul i64 %vector2, 1
  %50 = getelementptr float, ptr %10, i64 %49
  %51 = getelementptr float, ptr %50, i64 16
  store <8 x float> %39, ptr %51, align 32, !nontemporal !0
  %52 = mul i64 %vector2, 1
  %53 = getelementptr float, ptr %10, i64 %52
  %54 = getelementptr float, ptr %53, i64 24
  store <8 x float> %43, ptr %54, align 32, !nontemporal !0
  %55 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %endif

else:                                             ; preds = %task
  br label %vector.head3

vector.head3:                                     ; preds = %vector4, %else
  %vector5 = phi i64 [ %22, %else ], [ %83, %vector4 ]
  %56 = icmp slt i64 %vector5, %27
  br i1 %56, label %vector4, label %vector.end6

vector4:                                          ; preds = %vector.head3
  %57 = mul i64 %vector5, 1
  %58 = getelementptr float, ptr %8, i64 %57
  %59 = load <8 x float>, ptr %58, align 4
  %60 = mul i64 %vector5, 1
  %61 = getelementptr float, ptr %8, i64 %60
  %62 = getelementptr float, ptr %61, i64 8
  %63 = load <8 x float>, ptr %62, align 4
  %64 = mul i64 %vector5, 1
  %65 = getelementptr float, ptr %8, i64 %64
  %66 = getelementptr float, ptr %65, i64 16
  %67 = load <8 x float>, ptr %66, align 4
  %68 = mul i64 %vector5, 1
  %69 = getelementptr float, ptr %8, i64 %68
  %70 = getelementptr float, ptr %69, i64 24
  %71 = load <8 x float>, ptr %70, align 4
  %72 = mul i64 %vector5, 1
  %73 = getelementptr float, ptr %10, i64 %72
  store <8 x float> %59, ptr %73, align 4
  %74 = mul i64 %vector5, 1
  %75 = getelementptr float, ptr %10, i64 %74
  %76 = getelementptr float, ptr %75, i64 8
  store <8 x float> %63, ptr %76, align 4
  %77 = mul i64 %vector5, 1
  %78 = getelementptr float, ptr %10, i64 %77
  %79 = getelementptr float, ptr %78, i64 16
  store <8 x float> %67, ptr %79, align 4
  %80 = mul i64 %vector5, 1
  %81 = getelementptr float, ptr %10, i64 %80
  %82 = getelementptr float, ptr %81, i64 24
  store <8 x float> %71, ptr %82, align 4
  %83 = add i64 %vector5, 32
  br label %vector.head3

vector.end6:                                      ; preds = %vector.head3
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end6
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail7 = phi i64 [ %27, %endif ], [ %94, %tail ]
  %84 = icmp slt i64 %tail7, %24
  br i1 %84, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %85 = sub i64 %24, %tail7
  %86 = call i64 @llvm.umin.i64(i64 %85, i64 8)
  %87 = trunc i64 %86 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %87, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %88 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %89 = mul i64 %tail7, 1
  %90 = getelementptr float, ptr %8, i64 %89
  %91 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %90, i32 4, <8 x i1> %88, <8 x float> zeroinitializer)
  %92 = mul i64 %tail7, 1
  %93 = getelementptr float, ptr %10, i64 %92
  call void @llvm.masked.store.v8f32.p0(<8 x float> %91, ptr %93, i32 4, <8 x i1> %88)
  %94 = add i64 %tail7, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %95 = add i64 %20, 1
  %96 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %17, label %then8, label %endif9

then8:                                            ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif9

endif9:                                           ; preds = %task.end, %then8
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

; Function Attrs: nounwind
declare void @llvm.x86.sse.sfence() #0

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

!0 = !{i32 1}
